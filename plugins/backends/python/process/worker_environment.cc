#include "backends/python/process/worker_environment.h"

#include <algorithm>

#include "atoll/core/text.h"

namespace atl::python {
namespace {

constexpr std::string_view kNames[] = {"PATH",  "HOME",   "LANG",       "LANGUAGE", "TZ",
                                       "USER",  "TMPDIR", "LC_*",       "PYTHON*",  "LD_LIBRARY_PATH",
                                       "OMP_*", "MKL_*",  "OPENBLAS_*", "CUDA*",    "NVIDIA_*"};

bool fits(std::string_view name, std::string_view pattern) {
  // The server's own options, keys among them, are in variables as well: "*" is all but those.
  if (pattern == "*" && name.starts_with("ATOLL__")) return false;
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

auto find(std::span<const std::string> environment, std::string_view name) {
  return std::ranges::find_if(environment, [&](const std::string& entry) { return name_of(entry) == name; });
}

}  // namespace

bool is_passed_on(std::string_view name, std::span<const std::string> more) {
  const auto fits_name = [&](std::string_view pattern) { return fits(name, pattern); };
  return std::ranges::any_of(kNames, fits_name) || std::ranges::any_of(more, fits_name);
}

std::vector<std::string> worker_environment(char* const* environment, std::span<const std::string> more) {
  std::vector<std::string> passed;
  for (char* const* entry = environment; *entry != nullptr; ++entry) {
    if (is_passed_on(name_of(*entry), more)) passed.emplace_back(*entry);
  }
  set_variable(passed, "PYTHONUNBUFFERED", "1");
  if (variable(passed, "PYTHONPYCACHEPREFIX").empty()) set_variable(passed, "PYTHONDONTWRITEBYTECODE", "1");
  return passed;
}

void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
  std::erase_if(environment, [&](const std::string& entry) { return name_of(entry) == name; });
  if (!value.empty()) environment.push_back(cat(name, "=", value));
}

std::string variable(std::span<const std::string> environment, std::string_view name) {
  const auto found = find(environment, name);
  return found == environment.end() ? std::string() : found->substr(name.size() + 1);
}

}  // namespace atl::python
