#include <map>
#include <set>
#include <string>
#include <string_view>

#include "configs/pbtxt/checks/validate.h"

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

void validate_platform(const ModelConfig& config, Findings& findings) {
  const std::string& name = config.name();
  bool ensemble = config.platform() == "ensemble";
  if (config.backend().empty() && !ensemble) {
    return findings.invalid("platform", "unexpected platform type '", config.platform(), "' for ", name);
  }
  if (!config.backend().empty() && ensemble) {
    return findings.invalid("backend", "Ensemble model '", name,
                            "' must have platform type 'ensemble' and empty backend type");
  }
  auto known = known_platforms().find(config.backend());
  if (known != known_platforms().end() && !known->second.contains(config.platform())) {
    findings.invalid("platform", "unexpected 'platform' and 'backend' pair, got:", config.platform(), ", ",
                     config.backend());
  }
}

void validate_identity(const ModelConfig& config, Findings& findings) {
  const std::string& name = config.name();
  if (name.empty()) findings.invalid("name", "model configuration must specify 'name'");
  validate_platform(config, findings);
  if (config.max_batch_size() < 0) {
    findings.invalid("max_batch_size", "'max_batch_size' must be non-negative value for ", name);
  }
  if (!config.has_version_policy() ||
      config.version_policy().policy_choice_case() == inference::ModelVersionPolicy::POLICY_CHOICE_NOT_SET) {
    findings.invalid("version_policy", "must specify 'version policy' for ", name);
  }
}

void validate_metric(const inference::ModelMetrics::MetricControl& control, const std::string& field,
                     Findings& findings) {
  if (!control.has_metric_identifier()) {
    return findings.invalid(field, "metric control must specify 'metric_identifier'");
  }
  if (control.metric_identifier().family().empty()) {
    return findings.invalid(field + ".metric_identifier",
                            "metric identifier must specify non-empty 'family'");
  }
  if (!control.has_histogram_options()) {
    return findings.invalid(field, "metric control must specify 'histogram_options'");
  }
  const auto& buckets = control.histogram_options().buckets();
  std::string buckets_field = field + ".histogram_options.buckets";
  if (buckets.empty()) {
    return findings.invalid(buckets_field, "histogram options must specify non-empty 'buckets'");
  }
  for (int k = 0; k < buckets.size(); ++k) {
    // Written so that NaN fails, too.
    if (k == 0 ? buckets[k] == buckets[k] : buckets[k - 1] < buckets[k]) continue;
    return findings.invalid(cat(buckets_field, "[", k, "]"), "histogram options of '",
                            control.metric_identifier().family(), "' must list 'buckets' in ascending order");
  }
}

}  // namespace

void validate_metrics(const ModelConfig& config, Findings& findings) {
  for (int i = 0; i < config.model_metrics().metric_control_size(); ++i) {
    validate_metric(config.model_metrics().metric_control(i), cat("model_metrics.metric_control[", i, "]"),
                    findings);
  }
}

void validate_model(const ModelConfig& config, Findings& findings) {
  validate_identity(config, findings);
  if (config.has_dynamic_batching()) validate_dynamic_batching(config, findings);
  if (config.has_sequence_batching()) validate_sequence_batching(config, findings);
  if (config.has_ensemble_scheduling()) {
    validate_ensemble(config, findings);
  } else if (config.platform() == "ensemble") {
    findings.invalid("platform", "ensemble scheduling must be set for ensemble ", config.name(),
                     " whose platform is ensemble");
  }
  if (config.model_transaction_policy().decoupled() && config.response_cache().enable()) {
    findings.invalid("response_cache", "Response Cache does not currently support model ", config.name(),
                     " with 'decoupled' transaction policy. Please disable the response cache.");
  }
  validate_metrics(config, findings);
  validate_paths(config, findings);
  validate_limits(config, findings);
  validate_sequence_states(config, findings);
  validate_rate_limiter(config, findings);
  validate_warmup(config, findings);
}

void validate_complete(const ModelConfig& config, Findings& findings) {
  validate_tensors(config, findings);
  validate_batch_tensors(config, findings);
  validate_warmup_batches(config, findings);
}

bool may_replace_tensors(std::string_view backend) {
  return backend == "python" || backend == "tensorrt" || backend == "openvino";
}

Status validate_model(const ModelConfig& config, const SourceMap& source) {
  Findings findings(source);
  validate_model(config, findings);
  return findings.first();
}

Status validate_complete(const ModelConfig& config, const SourceMap& source) {
  Findings findings(source);
  validate_complete(config, findings);
  return findings.first();
}

}  // namespace atl::pbtxt
