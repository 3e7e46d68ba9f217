#include <map>
#include <string>

#include "configs/pbtxt/checks/bounds.h"
#include "configs/pbtxt/checks/validate.h"

namespace atl::pbtxt {

namespace {

class LimitRules {
 public:
  LimitRules(const std::string& model, Findings& findings) : model_(model), findings_(findings) {}

  void at_most(const std::string& field, uint64_t value, uint64_t maximum) const {
    if (value <= maximum) return;
    findings_.invalid(field, "'", field, "' of model '", model_, "' is ", value, ", expected at most ",
                      maximum);
  }

 private:
  const std::string& model_;
  Findings& findings_;
};

}  // namespace

void validate_limits(const inference::ModelConfig& config, Findings& findings) {
  LimitRules rules(config.name(), findings);
  const auto& sequence = config.sequence_batching();
  rules.at_most("sequence_batching.max_sequence_idle_microseconds", sequence.max_sequence_idle_microseconds(),
                kMicrosecondsMax);
  rules.at_most("sequence_batching.direct.max_queue_delay_microseconds",
                sequence.direct().max_queue_delay_microseconds(), kMicrosecondsMax);
  rules.at_most("sequence_batching.oldest.max_queue_delay_microseconds",
                sequence.oldest().max_queue_delay_microseconds(), kMicrosecondsMax);
  if (config.name().size() > kNameBytesMax) {
    findings.invalid("name", "model name has ", config.name().size(), " bytes, expected at most ",
                     kNameBytesMax);
  }
}

void validate_rate_limiter(const inference::ModelConfig& config, Findings& findings) {
  std::map<std::string, bool> scopes;
  for (int i = 0; i < config.instance_group_size(); ++i) {
    const auto& resources = config.instance_group(i).rate_limiter().resources();
    for (int k = 0; k < resources.size(); ++k) {
      const auto& resource = resources[k];
      std::string field = cat("instance_group[", i, "].rate_limiter.resources[", k, "]");
      if (resource.name().empty()) {
        findings.invalid(field, "rate limiter resource must have a name for ", config.name());
        continue;
      }
      if (resource.count() == 0) {
        findings.invalid(field, "rate limiter resource '", resource.name(),
                         "' has 'count' 0, expected at least 1 for ", config.name());
      }
      auto [scope, added] = scopes.emplace(resource.name(), resource.global());
      if (!added && scope->second != resource.global()) {
        findings.invalid(field, "Resource \"", resource.name(),
                         "\" is present as both global and device-specific resource in the model "
                         "configuration.");
      }
    }
  }
}

}  // namespace atl::pbtxt
