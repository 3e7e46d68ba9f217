#include "backends/python/process/closed_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace atl::python {
namespace {

namespace fs = std::filesystem;

/// Most links that are followed, as many as Linux follows.
constexpr int kLinksMost = 40;

bool may_enter(uid_t user, std::span<const gid_t> groups, const fs::path& folder) {
  struct stat found = {};
  // What is not there, or is no folder, fails for everybody.
  if (user == 0 || ::stat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return true;
  if (found.st_uid == user) return (found.st_mode & S_IXUSR) != 0;
  const bool is_of_group = std::find(groups.begin(), groups.end(), found.st_gid) != groups.end();
  return (found.st_mode & (is_of_group ? S_IXGRP : S_IXOTH)) != 0;
}

/// Adds the names of the path so that its first name is the last element, which is the one that is looked at next.
void push(std::vector<fs::path>& left, const fs::path& path) {
  const std::vector<fs::path> names(path.begin(), path.end());
  left.insert(left.end(), names.rbegin(), names.rend());
}

}  // namespace

std::string folder_closed_to(uid_t user, std::span<const gid_t> groups, const std::string& path) {
  std::error_code error;
  std::vector<fs::path> left;
  push(left, fs::absolute(path, error));
  if (error) return {};
  fs::path at = "/";
  for (int links = 0; !left.empty();) {
    const fs::path name = left.back();
    left.pop_back();
    if (name.is_absolute() || name.empty() || name == ".") {
      if (name.is_absolute()) at = "/";
      continue;
    }
    if (!may_enter(user, groups, at)) return at.string();
    if (name == "..") {
      at = at.parent_path();
      continue;
    }
    const fs::path target = fs::read_symlink(at / name, error);
    if (error) {
      at /= name;
    } else if (++links > kLinksMost) {
      return {};
    } else {
      push(left, target);
    }
  }
  return {};
}

}  // namespace atl::python
