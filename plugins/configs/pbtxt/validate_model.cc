#include <map>
#include <set>
#include <string>

#include "validate.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;

/// Frameworks whose platform names are fixed.
const std::map<std::string, std::set<std::string>>& known_platforms() {
  static const std::map<std::string, std::set<std::string>> platforms = {
      {"tensorflow", {"tensorflow_graphdef", "tensorflow_savedmodel"}},
      {"tensorrt", {"tensorrt_plan"}},
      {"onnxruntime", {"onnxruntime_onnx"}},
      {"pytorch", {"pytorch_libtorch", "torch_aoti"}},
  };
  return platforms;
}

Status validate_identity(const ModelConfig& config, const SourceMap& source) {
  const std::string& name = config.name();
  if (name.empty()) return source.invalid("name", "model configuration must specify 'name'");
  bool ensemble = config.platform() == "ensemble";
  if (config.backend().empty() && !ensemble) {
    return source.invalid("platform", "unexpected platform type '", config.platform(), "' for ", name);
  }
  if (!config.backend().empty() && ensemble) {
    return source.invalid("backend", "Ensemble model '", name,
                          "' must have platform type 'ensemble' and empty backend type");
  }
  auto known = known_platforms().find(config.backend());
  if (known != known_platforms().end() && !known->second.contains(config.platform())) {
    return source.invalid("platform", "unexpected 'platform' and 'backend' pair, got:", config.platform(),
                          ", ", config.backend());
  }
  if (config.max_batch_size() < 0) {
    return source.invalid("max_batch_size", "'max_batch_size' must be non-negative value for ", name);
  }
  if (!config.has_version_policy() ||
      config.version_policy().policy_choice_case() == inference::ModelVersionPolicy::POLICY_CHOICE_NOT_SET) {
    return source.invalid("version_policy", "must specify 'version policy' for ", name);
  }
  return {};
}

}  // namespace

Status validate_metrics(const ModelConfig& config, const SourceMap& source) {
  for (int i = 0; i < config.model_metrics().metric_control_size(); ++i) {
    const auto& control = config.model_metrics().metric_control(i);
    std::string field = cat("model_metrics.metric_control[", i, "]");
    if (!control.has_metric_identifier()) {
      return source.invalid(field, "metric control must specify 'metric_identifier'");
    }
    if (control.metric_identifier().family().empty()) {
      return source.invalid(field + ".metric_identifier",
                            "metric identifier must specify non-empty 'family'");
    }
    if (!control.has_histogram_options()) {
      return source.invalid(field, "metric control must specify 'histogram_options'");
    }
    const auto& buckets = control.histogram_options().buckets();
    std::string buckets_field = field + ".histogram_options.buckets";
    if (buckets.empty()) {
      return source.invalid(buckets_field, "histogram options must specify non-empty 'buckets'");
    }
    for (int k = 0; k < buckets.size(); ++k) {
      // Written so that NaN fails, too.
      if (k == 0 ? buckets[k] == buckets[k] : buckets[k - 1] < buckets[k]) continue;
      return source.invalid(cat(buckets_field, "[", k, "]"), "histogram options of '",
                            control.metric_identifier().family(), "' must list 'buckets' in ascending order");
    }
  }
  return {};
}

Status validate_model(const ModelConfig& config, const SourceMap& source) {
  ATOLL_RETURN_IF_ERROR(validate_identity(config, source));
  if (config.has_dynamic_batching()) ATOLL_RETURN_IF_ERROR(validate_dynamic_batching(config, source));
  if (config.has_sequence_batching()) ATOLL_RETURN_IF_ERROR(validate_sequence_batching(config, source));
  if (config.has_ensemble_scheduling()) {
    ATOLL_RETURN_IF_ERROR(validate_ensemble(config, source));
  } else if (config.platform() == "ensemble") {
    return source.invalid("platform", "ensemble scheduling must be set for ensemble ", config.name(),
                          " whose platform is ensemble");
  }
  if (config.model_transaction_policy().decoupled() && config.response_cache().enable()) {
    return source.invalid("response_cache", "Response Cache does not currently support model ", config.name(),
                          " with 'decoupled' transaction policy. Please disable the response cache.");
  }
  ATOLL_RETURN_IF_ERROR(validate_metrics(config, source));
  ATOLL_RETURN_IF_ERROR(validate_paths(config, source));
  ATOLL_RETURN_IF_ERROR(validate_limits(config, source));
  ATOLL_RETURN_IF_ERROR(validate_sequence_states(config, source));
  ATOLL_RETURN_IF_ERROR(validate_rate_limiter(config, source));
  return validate_warmup(config, source);
}

Status validate_complete(const ModelConfig& config, const SourceMap& source) {
  ATOLL_RETURN_IF_ERROR(validate_tensors(config, source));
  ATOLL_RETURN_IF_ERROR(validate_batch_tensors(config, source));
  return validate_warmup_batches(config, source);
}

}  // namespace atl::pbtxt
