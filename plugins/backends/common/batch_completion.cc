#include "backends/common/batch_completion.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "atoll/core/text.h"

namespace atl::backends {
namespace {

constexpr int64_t kDefaultMaxBatchSize = 4;

}  // namespace

Result<int64_t> default_max_batch_size(const ModelSource& source) {
  const auto setting = source.settings.find("default-max-batch-size");
  if (setting == source.settings.end()) return kDefaultMaxBatchSize;
  const std::string& text = setting->second;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return invalid_argument("backend setting 'default-max-batch-size': found '", text,
                          "', expected an integer");
}

Status completion_error(const inference::ModelConfig& config, std::string_view reason) {
  return invalid_argument("autofill failed for model '", config.name(), "': ", reason);
}

Status complete_max_batch_size(inference::ModelConfig& config, bool can_batch, int64_t default_size,
                               int64_t most) {
  if (!can_batch) {
    if (config.max_batch_size() == 0) return {};
    return completion_error(config,
                            "model does not support batching while non-zero max_batch_size is specified");
  }
  if (config.max_batch_size() == 0)
    config.set_max_batch_size(static_cast<int32_t>(std::clamp<int64_t>(default_size, 0, most)));
  if (config.max_batch_size() > 1 && !config.has_sequence_batching() && !config.has_dynamic_batching())
    config.mutable_dynamic_batching();
  return {};
}

bool is_schedulers_input(const inference::ModelConfig& config, std::string_view input) {
  const auto& sequences = config.sequence_batching();
  return std::ranges::any_of(sequences.control_input(),
                             [&](const auto& one) { return one.name() == input; }) ||
         std::ranges::any_of(sequences.state(), [&](const auto& one) { return one.input_name() == input; });
}

}  // namespace atl::backends
