/// Numbers of CPU cores as options have them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace atl {

/// More than a machine has; keeps a range that is a slip of the pen from taking memory.
inline constexpr uint32_t kCpuCoreMax = 8191;

/// "0-3,8" as cores in ascending order, each once. Nothing: it is no such list. [any]
inline std::optional<std::vector<uint32_t>> parse_cpu_list(std::string_view text) {
  const auto read = [](std::string_view digits) -> std::optional<uint32_t> {
    uint32_t core = 0;
    const char* end = digits.data() + digits.size();
    auto [rest, error] = std::from_chars(digits.data(), end, core);
    if (error != std::errc() || rest != end || core > kCpuCoreMax) return std::nullopt;
    return core;
  };
  std::set<uint32_t> cores;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    const size_t dash = range.find('-');
    const std::optional<uint32_t> first = read(range.substr(0, dash));
    const std::optional<uint32_t> last =
        dash == std::string_view::npos ? first : read(range.substr(dash + 1));
    if (!first || !last || *first > *last) return std::nullopt;
    for (uint32_t core = *first; core <= *last; ++core) cores.insert(core);
    if (comma == std::string_view::npos) return std::vector<uint32_t>(cores.begin(), cores.end());
    text.remove_prefix(comma + 1);
  }
}

}  // namespace atl
