#include <algorithm>
#include <set>
#include <string>

#include "configs/pbtxt/checks/bounds.h"
#include "configs/pbtxt/checks/validate.h"
#include "configs/pbtxt/shapes.h"

namespace atl::pbtxt {

namespace {

using State = inference::ModelSequenceBatching::State;

void check_initial_state(const State& state, const std::string& field, Findings& findings) {
  const std::string& name = state.input_name();
  if (state.initial_state_size() > 1) {
    return findings.invalid(field, "initial_state field for state input '", name,
                            "' must contain exactly one or zero element. Found '", state.initial_state_size(),
                            "' elements.");
  }
  if (state.initial_state().empty()) return;
  const auto& initial = state.initial_state(0);
  std::string initial_field = field + ".initial_state[0]";
  if (initial.data_type() != state.data_type()) {
    findings.invalid(initial_field, "The data type used for 'initial_state' field of state '", name,
                     "' does not match the state data type.");
  }
  if (initial.name().empty()) {
    findings.invalid(initial_field, "Field 'name' must be set when using initial_state for state input '",
                     name, "'.");
  }
  if (initial.dims_size() != state.dims_size()) {
    return findings.invalid(initial_field,
                            "Number of dimensions in 'initial_state' doesn't match the size of 'state' "
                            "dimensions for state input '",
                            name, "'. ", initial.dims_size(), " != ", state.dims_size());
  }
  for (int i = 0; i < initial.dims_size(); ++i) {
    if (initial.dims(i) < 0) {  // -2 is no more of a size than -1 is
      return findings.invalid(initial_field, "'initial_state' field for state input name '", name,
                              "' contains variable dimensions.");
    }
    if (state.dims(i) != -1 && initial.dims(i) != state.dims(i)) {
      return findings.invalid(initial_field, "'initial_state' dim for input name '", name,
                              "' doesn't match 'state' dim description. ", initial.dims(i),
                              " != ", state.dims(i));
    }
  }
  if (initial.state_data_case() == inference::ModelSequenceBatching::InitialState::STATE_DATA_NOT_SET) {
    findings.invalid(initial_field, "initial_state setting expects state'", name, "' to have state_data set");
  }
  check_shape(initial.dims(), initial.data_type(), name, initial_field, findings);
}

void check_state(const State& state, const std::string& field, const inference::ModelConfig& config,
                 Findings& findings) {
  const std::string& name = state.input_name();
  auto missing = [&](const char* what) {
    findings.invalid(field, "sequence batching state '", name, "' must specify '", what, "' for ",
                     config.name());
  };
  if (name.empty()) return missing("input_name");
  if (state.output_name().empty()) return missing("output_name");
  if (state.data_type() == inference::TYPE_INVALID) return missing("data_type");
  if (state.dims().empty()) return missing("dims");
  if (std::max(name.size(), state.output_name().size()) > kNameBytesMax) {
    return findings.invalid(field, "a name of a sequence batching state has more than ", kNameBytesMax,
                            " bytes for ", config.name());
  }
  for (int64_t dim : state.dims()) {
    if (dim >= 1 || dim == -1) continue;
    return findings.invalid(
        field, "sequence batching state '", name,
        "' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for ", config.name());
  }
  int rank = state.dims_size() + (config.max_batch_size() > 0 ? 1 : 0);
  check_rank(rank, cat("sequence batching state '", name, "'"), config.name(), field, findings);
  check_shape(state.dims(), state.data_type(), name, field, findings);
  if (state.use_growable_memory() && !state.use_same_buffer_for_input_output()) {
    findings.invalid(
        field,
        "In order to 'use_growable_memory', you must also enable 'use_single_buffer' for state input name '",
        name, "'.");
  }
  check_initial_state(state, field, findings);
}

}  // namespace

void validate_sequence_states(const inference::ModelConfig& config, Findings& findings) {
  if (!config.has_sequence_batching()) return;
  std::set<std::string> inputs, outputs;
  const auto& states = config.sequence_batching().state();
  // All of them come to the backend as inputs of a request.
  int tensors = config.input_size() + config.sequence_batching().control_input_size() + states.size();
  if (tensors > kTensorsMax) {
    return findings.invalid("sequence_batching", "model ", config.name(), " has ", tensors,
                            " inputs, control inputs and states, expected at most ", kTensorsMax);
  }
  for (int i = 0; i < states.size(); ++i) {
    std::string field = cat("sequence_batching.state[", i, "]");
    check_state(states[i], field, config, findings);
    if (!inputs.insert(states[i].input_name()).second) {
      findings.invalid(field, "State input name '", states[i].input_name(), "' specified more than once.");
    }
    if (!outputs.insert(states[i].output_name()).second) {
      findings.invalid(field, "State output name '", states[i].output_name(), "' specified more than once.");
    }
  }
}

}  // namespace atl::pbtxt
