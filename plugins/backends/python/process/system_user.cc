#include "backends/python/process/system_user.h"

#include <grp.h>
#include <pwd.h>

#include <charconv>
#include <vector>

namespace atl::python {

Result<SystemUser> SystemUser::find(const std::string& text) {
  SystemUser user;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, user.id);
  const bool is_number = error == std::errc() && rest == end;
  std::vector<char> memory(64 << 10);
  passwd entry = {};
  passwd* found = nullptr;
  if (is_number) {
    (void)::getpwuid_r(user.id, &entry, memory.data(), memory.size(), &found);
  } else {
    (void)::getpwnam_r(text.c_str(), &entry, memory.data(), memory.size(), &found);
  }
  if (found != nullptr) return SystemUser{found->pw_uid, found->pw_gid, found->pw_name, found->pw_dir};
  if (!is_number) return not_found("there is no user '", text, "'");
  user.group = user.id;
  return user;
}

std::vector<gid_t> SystemUser::groups() const {
  std::vector<gid_t> all = {group};
  if (name.empty()) return all;
  int count = 64;
  all.resize(static_cast<size_t>(count));
  while (::getgrouplist(name.c_str(), group, all.data(), &count) < 0) all.resize(static_cast<size_t>(count));
  all.resize(static_cast<size_t>(count));
  return all;
}

}  // namespace atl::python
