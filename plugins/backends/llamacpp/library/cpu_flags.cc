#include "backends/llamacpp/library/cpu_flags.h"

#include <set>

namespace atl::llamacpp {
namespace {

template <class Use>
void each_word(std::string_view text, Use&& use) {
  constexpr std::string_view kBlanks = " \t\n";
  while (true) {
    const size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return;
    text.remove_prefix(begin);
    const size_t end = text.find_first_of(kBlanks);
    use(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end);
  }
}

}  // namespace

std::string cpu_flags_of(std::string_view cpuinfo) {
  while (!cpuinfo.empty()) {
    const size_t end = cpuinfo.find('\n');
    const std::string_view line = cpuinfo.substr(0, end);
    const size_t colon = line.find(':');
    if (line.starts_with("flags") && colon != std::string_view::npos)
      return std::string(line.substr(colon + 1));
    if (end == std::string_view::npos) break;
    cpuinfo.remove_prefix(end + 1);
  }
  return {};
}

std::string missing_cpu_flags(std::string_view needed, std::string_view present) {
  std::set<std::string_view> there;
  each_word(present, [&](std::string_view word) { there.insert(word); });
  std::string missing;
  each_word(needed, [&](std::string_view word) {
    if (there.contains(word)) return;
    if (!missing.empty()) missing += ", ";
    missing += word;
  });
  return missing;
}

}  // namespace atl::llamacpp
