#include "frontends/common/routes/route_path.h"

#include <algorithm>
#include <cstddef>

namespace atl::frontends {
namespace {

constexpr size_t kMostPathBytes = 1024;
constexpr ptrdiff_t kMostStars = 4;

}  // namespace

std::string_view wrong_route_path(std::string_view path) noexcept {
  if (path.empty() || path.front() != '/') return "its path does not begin with '/'";
  if (path.size() > kMostPathBytes) return "its path has more than 1,024 bytes";
  if (std::count(path.begin(), path.end(), '*') > kMostStars) return "its path has more than 4 '*'";
  if (path.find("**") != std::string_view::npos) return "its path has '*' twice in a row";
  for (char c : path) {
    if (c <= ' ' || c == 0x7F || c == '?') return "its path has a character that no path can have";
  }
  return {};
}

bool fits_route(std::string_view pattern, std::string_view path) noexcept {
  size_t star = pattern.find('*');
  if (star == std::string_view::npos) return path == pattern;
  if (!path.starts_with(pattern.substr(0, star))) return false;
  path.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  // What stands between two stars is taken where it comes first: the stars behind it take more then, never less.
  while (!pattern.empty()) {
    star = pattern.find('*');
    if (star == std::string_view::npos) return path.size() > pattern.size() && path.ends_with(pattern);
    const size_t found = path.find(pattern.substr(0, star), 1);
    if (found == std::string_view::npos) return false;
    path.remove_prefix(found + star);
    pattern.remove_prefix(star + 1);
  }
  return true;
}

}  // namespace atl::frontends
