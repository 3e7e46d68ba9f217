#include "backends/triton/settings.h"

#include <nlohmann/json.hpp>

namespace atl::triton {
namespace {

using Json = nlohmann::json;  // ordered by key

// What is not UTF-8 came from a manifest; a text that can be read is better than none.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void take_those_after(const std::string& prefix, const Settings& from, Settings* to) {
  for (const auto& [key, value] : from) {
    if (key.starts_with(prefix)) (*to)[key.substr(prefix.size())] = value;
  }
}

std::string policy_name(const InstanceSpec& spec) {
  if (!spec.host_policy.empty()) return spec.host_policy;
  if (spec.kind == InstanceKind::kGpu) return cat("gpu_", spec.device_id);
  return spec.kind == InstanceKind::kModel ? "model" : "cpu";
}

}  // namespace

std::string settings_json(const SettingsSource& source, std::string_view backend) {
  Settings settings = {{"auto-complete-config", source.auto_complete ? "true" : "false"},
                       {"backend-directory", source.backend_directory},
                       {"min-compute-capability", "6.000000"},
                       {"default-max-batch-size", "4"}};
  if (source.model != nullptr) {
    for (const auto& [key, value] : *source.model) {
      if (!key.starts_with('.')) settings[key] = value;
    }
    take_those_after(cat(".", backend, "."), *source.model, &settings);
  }
  if (source.options != nullptr) {
    for (const auto& [key, value] : *source.options) {
      if (key.find('.') == std::string::npos) settings[key] = value;
    }
    take_those_after(cat(backend, "."), *source.options, &settings);
  }
  return text_of(Json{{"cmdline", settings}});
}

std::string host_policy_json(const InstanceSpec& spec) {
  Json policy = Json::object();
  if (spec.numa_node >= 0) policy["numa-node"] = cat(spec.numa_node);
  std::string cores;
  for (uint32_t core : spec.cpu_cores) cores += cat(cores.empty() ? "" : ",", core);
  if (!cores.empty()) policy["cpu-cores"] = cores;
  return text_of(Json{{policy_name(spec), policy}});
}

}  // namespace atl::triton
