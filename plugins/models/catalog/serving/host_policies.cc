#include "models/catalog/serving/host_policies.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/lib/cpu_list.h"

namespace atl::models {
namespace {

constexpr uint32_t kNodeMax = 1023;

std::optional<uint32_t> read_number(std::string_view text, uint32_t maximum) {
  uint32_t number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number > maximum) return std::nullopt;
  return number;
}

}  // namespace

Result<HostPolicies> read_host_policies(const std::map<std::string, std::string>& settings) {
  HostPolicies policies;
  for (const auto& [key, value] : settings) {
    const std::string begin = cat("option 'host_policies': \"", key, "\" = \"", value, "\": ");
    const size_t dot = key.rfind('.');
    if (dot == std::string::npos || dot == 0) {
      return invalid_argument(begin, "expected a key \"<policy>.<setting>\"");
    }
    const std::string setting = key.substr(dot + 1);
    HostPolicy& policy = policies[key.substr(0, dot)];
    if (setting == "numa-node") {
      std::optional<uint32_t> node = read_number(value, kNodeMax);
      if (!node) return invalid_argument(begin, "expected a number from 0 to ", kNodeMax);
      policy.numa_node = static_cast<int32_t>(*node);
    } else if (setting == "cpu-cores") {
      std::optional<std::vector<uint32_t>> cores = parse_cpu_list(value);
      if (!cores) {
        return invalid_argument(
            begin, "expected cores as \"<first>-<last>[,<first>-<last>...]\", each from 0 to ", kCpuCoreMax);
      }
      policy.cpu_cores = std::move(*cores);
    } else {
      return invalid_argument(begin, "Unsupported host policy setting '", setting,
                              "' is specified, supported settings are 'numa-node', 'cpu-cores'");
    }
  }
  return policies;
}

}  // namespace atl::models
