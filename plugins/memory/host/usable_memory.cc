#include "memory/host/usable_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string_view>

#include "atoll/core/quantity.h"

namespace atl::memory {
namespace {

void lower(UsableMemory* least, uint64_t bytes, std::string reason) {
  if (bytes == 0 || (least->bytes != 0 && bytes >= least->bytes)) return;
  *least = {bytes, std::move(reason)};
}

void apply_resource_limit(decltype(RLIMIT_AS) resource, const char* name, UsableMemory* least) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  lower(least, limit.rlim_cur, name);
}

/// "max", and v1's huge number for no limit, are larger than any machine.
void apply_group_limit(const std::string& file, std::string_view name, UsableMemory* least) {
  std::ifstream in(file);
  std::string text;
  if (!(in >> text)) return;
  if (const std::optional<uint64_t> bytes = parse_bytes(text)) {
    lower(least, *bytes, std::string("control group limit ").append(name));
  }
}

/// The group's own limit and those of the groups above it, up to where the hierarchy is mounted. In a
/// container the path may be that of the host, which does not exist there; the container's own group is then
/// what is mounted.
void apply_group_limits(const std::string& mount, std::string path, std::string_view name,
                        UsableMemory* least) {
  while (!path.empty() && path != "/") {
    apply_group_limit(mount + path + "/" + std::string(name), name, least);
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  apply_group_limit(mount + "/" + std::string(name), name, least);
}

bool has_controller(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == wanted) return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

}  // namespace

UsableMemory usable_memory(const std::string& root) {
  UsableMemory least;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    lower(&least, static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes), "physical memory");
  }
  apply_resource_limit(RLIMIT_AS, "limit of the address space", &least);
  apply_resource_limit(RLIMIT_DATA, "limit of the data segment", &least);
  // Lines as "0::/group" (v2) or "9:memory:/group" (v1).
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    const std::string mount = root + "/sys/fs/cgroup";
    if (controllers.empty()) {
      apply_group_limits(mount, path, "memory.max", &least);
    } else if (has_controller(controllers, "memory")) {
      apply_group_limits(mount + "/memory", path, "memory.limit_in_bytes", &least);
    }
  }
  return least;
}

}  // namespace atl::memory
