#include <set>
#include <string>

#include "configs/pbtxt/checks/bounds.h"
#include "configs/pbtxt/checks/validate.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;

template <class Tensors>
std::set<std::string> names_of(const Tensors& tensors) {
  std::set<std::string> names;
  for (const auto& tensor : tensors) names.insert(tensor.name());
  return names;
}

/// The rules that batch inputs and batch outputs share. \param what  "batch input" or "batch output".
template <class BatchTensor>
void check_source(const ModelConfig& config, const BatchTensor& tensor, const std::string& field,
                  const char* what, Findings& findings) {
  std::string kind = BatchTensor::Kind_Name(tensor.kind());
  if (kind.empty()) {
    return findings.invalid(field + ".kind", "unknown ", what, " kind '", static_cast<int>(tensor.kind()),
                            "' for ", config.name());
  }
  if (tensor.source_input_size() != 1) {
    return findings.invalid(field, what, " kind '", kind, "' expects 1 source input, got ",
                            tensor.source_input_size(), " for ", config.name());
  }
}

/// After check_source() and what is particular to the kind of tensor.
template <class BatchTensor>
void check_source_name(const ModelConfig& config, const std::set<std::string>& inputs,
                       const BatchTensor& tensor, const std::string& field, Findings& findings) {
  if (tensor.source_input_size() != 1 || inputs.contains(tensor.source_input(0))) return;
  findings.invalid(field + ".source_input[0]", "unknown source input name '", tensor.source_input(0),
                   "' for ", config.name());
}

void validate_batch_inputs(const ModelConfig& config, const std::set<std::string>& inputs,
                           Findings& findings) {
  for (int i = 0; i < config.batch_input_size(); ++i) {
    const auto& batch_input = config.batch_input(i);
    std::string field = cat("batch_input[", i, "]");
    check_source(config, batch_input, field, "batch input", findings);
    if (batch_input.data_type() != inference::TYPE_INT32 && batch_input.data_type() != inference::TYPE_FP32) {
      findings.invalid(field + ".data_type", "batch input data type must be TYPE_INT32 or TYPE_FP32 for ",
                       config.name());
    }
    check_source_name(config, inputs, batch_input, field, findings);
  }
}

void validate_batch_outputs(const ModelConfig& config, const std::set<std::string>& inputs,
                            Findings& findings) {
  auto outputs = names_of(config.output());
  std::set<std::string> targets;  // over all entries: an output is cut once
  for (int i = 0; i < config.batch_output_size(); ++i) {
    const auto& batch_output = config.batch_output(i);
    std::string field = cat("batch_output[", i, "]");
    check_source(config, batch_output, field, "batch output", findings);
    check_source_name(config, inputs, batch_output, field, findings);
    for (int k = 0; k < batch_output.target_name_size(); ++k) {
      const std::string& target = batch_output.target_name(k);
      std::string target_field = cat(field, ".target_name[", k, "]");
      if (!outputs.contains(target)) {
        findings.invalid(target_field, "unknown target output name '", target, "' for ", config.name());
      } else if (!targets.insert(target).second) {
        findings.invalid(target_field, "target output name '", target, "' can only be specified once for ",
                         config.name());
      }
    }
  }
}

/// Each target is one tensor of the model, made by nobody else.
void check_batch_input_targets(const ModelConfig& config, const std::set<std::string>& inputs,
                               Findings& findings) {
  std::set<std::string> targets;
  for (int i = 0; i < config.batch_input_size(); ++i) {
    const auto& batch_input = config.batch_input(i);
    for (int k = 0; k < batch_input.target_name_size(); ++k) {
      const std::string& target = batch_input.target_name(k);
      std::string field = cat("batch_input[", i, "].target_name[", k, "]");
      if (inputs.contains(target)) {
        findings.invalid(field, "batch input target name '", target, "' is also the name of an input for ",
                         config.name());
      }
      if (!targets.insert(target).second) {
        findings.invalid(field, "batch input target name '", target, "' can only be specified once for ",
                         config.name());
      }
      if (targets.size() > kTensorsMax) {
        return findings.invalid(field, "model ", config.name(), " has more than ", kTensorsMax,
                                " batch input targets");
      }
    }
  }
}

}  // namespace

void validate_batch_tensors(const ModelConfig& config, Findings& findings) {
  auto inputs = names_of(config.input());
  validate_batch_inputs(config, inputs, findings);
  validate_batch_outputs(config, inputs, findings);
  check_batch_input_targets(config, inputs, findings);
}

}  // namespace atl::pbtxt
