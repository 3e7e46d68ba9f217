#include "models/catalog/serving/host_policies.h"

#include <charconv>
#include <optional>
#include <set>
#include <string_view>

namespace atl::models {
namespace {

/// More than a machine has; keeps a range that is a slip of the pen from taking memory.
constexpr uint32_t kCoreMax = 8191;
constexpr uint32_t kNodeMax = 1023;

std::optional<uint32_t> read_number(std::string_view text, uint32_t maximum) {
  uint32_t number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number > maximum) return std::nullopt;
  return number;
}

bool read_cores(std::string_view text, std::vector<uint32_t>* cores) {
  std::set<uint32_t> all;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    const size_t dash = range.find('-');
    std::optional<uint32_t> first = read_number(range.substr(0, dash), kCoreMax);
    std::optional<uint32_t> last = first;
    if (dash != std::string_view::npos) last = read_number(range.substr(dash + 1), kCoreMax);
    if (!first || !last || *first > *last) return false;
    for (uint32_t core = *first; core <= *last; ++core) all.insert(core);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  cores->assign(all.begin(), all.end());
  return true;
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
      if (!read_cores(value, &policy.cpu_cores)) {
        return invalid_argument(
            begin, "expected cores as \"<first>-<last>[,<first>-<last>...]\", each from 0 to ", kCoreMax);
      }
    } else {
      return invalid_argument(begin, "Unsupported host policy setting '", setting,
                              "' is specified, supported settings are 'numa-node', 'cpu-cores'");
    }
  }
  return policies;
}

}  // namespace atl::models
