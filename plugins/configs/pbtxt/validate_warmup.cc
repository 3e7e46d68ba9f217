#include <algorithm>
#include <string>

#include "bounds.h"
#include "shapes.h"
#include "validate.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;
using inference::ModelWarmup;

Status check_input(const std::string& name, const ModelWarmup::Input& input, int64_t batch,
                   const std::string& field, const SourceMap& source) {
  if (input.data_type() == inference::TYPE_INVALID) {
    return source.invalid(field, "warmup setting expects input '", name, "' to have data_type set");
  }
  if (input.input_data_type_case() == ModelWarmup::Input::INPUT_DATA_TYPE_NOT_SET) {
    return source.invalid(field, "warmup setting expects input '", name, "' to have input_data_type set");
  }
  for (int64_t dim : input.dims()) {
    if (dim >= 0) continue;
    return source.invalid(
        field, "warmup setting expects all variable-size dimensions are specified for input '", name, "'");
  }
  ATOLL_RETURN_IF_ERROR(check_shape(input.dims(), input.data_type(), name, field, source));
  int64_t bytes = known_elements(input.dims()).value_or(0) * element_bytes(input.data_type());
  if (__builtin_mul_overflow(bytes, std::max<int64_t>(batch, 1), &bytes) || bytes > kWarmupBytesMax) {
    return source.invalid(field, "warmup input '", name, "' takes more than ", kWarmupBytesMax, " bytes");
  }
  return {};
}

}  // namespace

Status validate_warmup(const ModelConfig& config, const SourceMap& source) {
  if (config.model_warmup_size() > kWarmupSamplesMax) {
    return source.invalid(cat("model_warmup[", kWarmupSamplesMax, "]"), "model '", config.name(), "' has ",
                          config.model_warmup_size(), " warmup samples, expected at most ",
                          kWarmupSamplesMax);
  }
  for (int i = 0; i < config.model_warmup_size(); ++i) {
    const ModelWarmup& sample = config.model_warmup(i);
    std::string field = cat("model_warmup[", i, "]");
    if (sample.count() > kWarmupCountMax) {
      return source.invalid(field + ".count", "'count' of warmup sample '", sample.name(), "' is ",
                            sample.count(), ", expected at most ", kWarmupCountMax);
    }
    for (const auto& [name, input] : sample.inputs()) {
      ATOLL_RETURN_IF_ERROR(check_input(name, input, sample.batch_size(), field + ".inputs", source));
    }
  }
  return {};
}

Status validate_warmup_batches(const ModelConfig& config, const SourceMap& source) {
  auto batch_max = static_cast<uint32_t>(std::max(config.max_batch_size(), 1));
  for (int i = 0; i < config.model_warmup_size(); ++i) {
    const ModelWarmup& sample = config.model_warmup(i);
    if (sample.batch_size() <= batch_max) continue;
    return source.invalid(cat("model_warmup[", i, "].batch_size"), "'batch_size' of warmup sample '",
                          sample.name(), "' is ", sample.batch_size(), ", expected at most ", batch_max);
  }
  return {};
}

}  // namespace atl::pbtxt
