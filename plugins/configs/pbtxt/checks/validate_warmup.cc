#include <algorithm>
#include <string>

#include "configs/pbtxt/checks/bounds.h"
#include "configs/pbtxt/checks/validate.h"
#include "configs/pbtxt/shapes.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;
using inference::ModelWarmup;

void check_input(const ModelConfig& config, const ModelWarmup& sample, const std::string& name,
                 const ModelWarmup::Input& input, const std::string& field, Findings& findings) {
  if (input.data_type() == inference::TYPE_INVALID) {
    findings.invalid(field, "warmup setting expects input '", name, "' to have data_type set");
  }
  if (input.input_data_type_case() == ModelWarmup::Input::INPUT_DATA_TYPE_NOT_SET) {
    findings.invalid(field, "warmup setting expects input '", name, "' to have input_data_type set");
  }
  if (std::any_of(input.dims().begin(), input.dims().end(), [](int64_t dim) { return dim < 0; })) {
    return findings.invalid(
        field, "warmup setting expects all variable-size dimensions are specified for input '", name, "'");
  }
  int rank = input.dims_size() + (config.max_batch_size() > 0 ? 1 : 0);
  check_rank(rank, cat("warmup input '", name, "'"), config.name(), field, findings);
  if (!check_shape(input.dims(), input.data_type(), name, field, findings)) return;
  int64_t bytes = known_elements(input.dims()).value_or(0) * element_bytes(input.data_type());
  int64_t batch = std::max<int64_t>(sample.batch_size(), 1);
  if (__builtin_mul_overflow(bytes, batch, &bytes) || bytes > kWarmupBytesMax) {
    findings.invalid(field, "warmup input '", name, "' takes more than ", kWarmupBytesMax, " bytes");
  }
}

}  // namespace

void validate_warmup(const ModelConfig& config, Findings& findings) {
  if (config.model_warmup_size() > kWarmupSamplesMax) {
    return findings.invalid(cat("model_warmup[", kWarmupSamplesMax, "]"), "model '", config.name(), "' has ",
                            config.model_warmup_size(), " warmup samples, expected at most ",
                            kWarmupSamplesMax);
  }
  for (int i = 0; i < config.model_warmup_size(); ++i) {
    const ModelWarmup& sample = config.model_warmup(i);
    std::string field = cat("model_warmup[", i, "]");
    if (sample.count() > kWarmupCountMax) {
      findings.invalid(field + ".count", "'count' of warmup sample '", sample.name(), "' is ", sample.count(),
                       ", expected at most ", kWarmupCountMax);
    }
    for (const auto& [name, input] : sample.inputs()) {
      check_input(config, sample, name, input, field + ".inputs", findings);
    }
  }
}

void validate_warmup_batches(const ModelConfig& config, Findings& findings) {
  auto batch_max = static_cast<uint32_t>(std::max(config.max_batch_size(), 1));
  for (int i = 0; i < config.model_warmup_size(); ++i) {
    const ModelWarmup& sample = config.model_warmup(i);
    if (sample.batch_size() <= batch_max) continue;
    findings.invalid(cat("model_warmup[", i, "].batch_size"), "'batch_size' of warmup sample '",
                     sample.name(), "' is ", sample.batch_size(), ", expected at most ", batch_max);
  }
}

}  // namespace atl::pbtxt
