#include "identity_config.h"

#include <span>
#include <vector>

namespace atl::identity {
namespace {

constexpr int64_t kDelayMaxMs = 3'600'000;

template <class Tensor>
std::vector<int64_t> backend_dims(const Tensor& tensor) {
  if (tensor.has_reshape()) return {tensor.reshape().shape().begin(), tensor.reshape().shape().end()};
  return {tensor.dims().begin(), tensor.dims().end()};
}

bool can_hold(std::span<const int64_t> output, std::span<const int64_t> input) {
  if (output.size() != input.size()) return false;
  for (size_t i = 0; i < output.size(); ++i) {
    if (output[i] != -1 && output[i] != input[i]) return false;
  }
  return true;
}

Status check_output(const inference::ModelConfig& config, const inference::ModelOutput& output) {
  if (!output.name().starts_with(kOutputPrefix)) {
    return invalid_argument("model '", config.name(), "': output '", output.name(),
                            "' of an identity model is expected to be named OUTPUT<i>");
  }
  std::string wanted = cat(kInputPrefix, std::string_view(output.name()).substr(kOutputPrefix.size()));
  for (const inference::ModelInput& input : config.input()) {
    if (input.name() != wanted) continue;
    if (input.data_type() != output.data_type()) {
      return invalid_argument("model '", config.name(), "': output '", output.name(), "' has type ",
                              data_type_name(backends::data_type_of(output.data_type())), ", expected ",
                              data_type_name(backends::data_type_of(input.data_type())), " as input '",
                              input.name(), "'");
    }
    std::vector<int64_t> to = backend_dims(output), from = backend_dims(input);
    if (!can_hold(to, from)) {
      return invalid_argument("model '", config.name(), "': output '", output.name(), "' has dims ",
                              shape_text(to), ", which do not take every ", shape_text(from), " of input '",
                              input.name(), "'");
    }
    return {};
  }
  return invalid_argument("model '", config.name(), "': output '", output.name(),
                          "' of an identity model has no input '", wanted, "'");
}

}  // namespace

Result<IdentityConfig> read_identity_config(const backends::ConfigView& config) {
  for (const inference::ModelOutput& output : config.message().output()) {
    ATOLL_RETURN_IF_ERROR(check_output(config.message(), output));
  }
  Result<int64_t> delay = config.int_parameter("execute_delay_ms", 0, 0, kDelayMaxMs);
  if (!delay.ok()) return std::move(delay).status();
  return IdentityConfig{.execute_delay_ms = delay.value(), .decoupled = config.decoupled()};
}

}  // namespace atl::identity
