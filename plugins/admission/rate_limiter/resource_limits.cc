#include "admission/rate_limiter/resource_limits.h"

#include <algorithm>
#include <charconv>

namespace atl::admission {
namespace {

template <class Number>
bool read_number(std::string_view text, Number* number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':')) {
    parts.push_back(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  parts.push_back(text);
  return parts;
}

}  // namespace

Result<ResourceLimits> ResourceLimits::parse(const std::vector<std::string>& entries) {
  ResourceLimits limits;
  for (const std::string& entry : entries) {
    std::vector<std::string_view> parts = split(entry);
    if (parts.size() < 2 || parts.size() > 3 || parts[0].empty()) {
      return invalid_argument("'", entry,
                              "' is not a resource, expected '<resource_name>:<count>:<device>' or "
                              "'<resource_name>:<count>'");
    }
    uint32_t count = 0;
    if (!read_number(parts[1], &count)) {
      return invalid_argument("'", entry, "' has the count '", parts[1],
                              "', expected a whole number from 0 to 4294967295");
    }
    std::optional<int32_t> device;
    if (parts.size() == 3 && (!read_number(parts[2], &device.emplace()) || *device < 0)) {
      return invalid_argument("'", entry, "' has the device '", parts[2],
                              "', expected a whole number from 0 to 2147483647");
    }
    auto [known, added] = limits.counts_[std::string(parts[0])].emplace(device, count);
    if (!added) known->second = std::min(known->second, count);
  }
  return limits;
}

uint32_t ResourceLimits::of_device(std::string_view name, int32_t device_id) const noexcept {
  auto found = counts_.find(name);
  if (found == counts_.end()) return 0;
  uint32_t most = 0;
  for (const auto& [device, count] : found->second) {
    if (!device || *device == device_id) most = std::max(most, count);
  }
  return most;
}

uint32_t ResourceLimits::global(std::string_view name) const noexcept {
  auto found = counts_.find(name);
  if (found == counts_.end()) return 0;
  uint32_t most = 0;
  for (const auto& [device, count] : found->second) most = std::max(most, count);
  return most;
}

}  // namespace atl::admission
