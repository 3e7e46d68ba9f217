#include "backends/identity/identity_config.h"

#include <span>
#include <string>
#include <utility>

#include "atoll/backend/parameters.h"

namespace atl::identity {
namespace {

constexpr int64_t kDelayMaxMs = 3'600'000;

bool can_hold(std::span<const int64_t> output, std::span<const int64_t> input) {
  if (output.size() != input.size()) return false;
  for (size_t i = 0; i < output.size(); ++i) {
    if (output[i] != -1 && output[i] != input[i]) return false;
  }
  return true;
}

Status check_output(const ModelDescription& model, const TensorSpec& output) {
  if (!output.name.starts_with(kOutputPrefix)) {
    return invalid_argument("model '", model.name, "': output '", output.name,
                            "' of an identity model is expected to be named OUTPUT<i>");
  }
  const std::string wanted = cat(kInputPrefix, std::string_view(output.name).substr(kOutputPrefix.size()));
  const TensorSpec* input = model.find_input(wanted);
  if (input == nullptr) {
    return invalid_argument("model '", model.name, "': output '", output.name,
                            "' of an identity model has no input '", wanted, "'");
  }
  if (input->datatype != output.datatype) {
    return invalid_argument("model '", model.name, "': output '", output.name, "' has type ",
                            data_type_name(output.datatype), ", expected ", data_type_name(input->datatype),
                            " as input '", input->name, "'");
  }
  if (can_hold(output.backend_dims(), input->backend_dims())) return {};
  return invalid_argument("model '", model.name, "': output '", output.name, "' has dims ",
                          shape_text(output.backend_dims()), ", which do not take every ",
                          shape_text(input->backend_dims()), " of input '", input->name, "'");
}

}  // namespace

Result<IdentityConfig> read_identity_config(const ModelDescription& model) {
  for (const TensorSpec& output : model.outputs) ATOLL_RETURN_IF_ERROR(check_output(model, output));
  Result<int64_t> delay = backends::int_parameter(model, "execute_delay_ms", 0, 0, kDelayMaxMs);
  if (!delay.ok()) return std::move(delay).status();
  IdentityConfig config{
      .execute_delay_ms = delay.value(), .decoupled = model.decoupled, .optional_inputs = {}};
  for (const TensorSpec& input : model.inputs) {
    if (input.optional) config.optional_inputs.push_back(input);
  }
  return config;
}

}  // namespace atl::identity
