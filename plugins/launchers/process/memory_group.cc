#include "launchers/process/memory_group.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "atoll/core/file_descriptor.h"

namespace atl::launchers {
namespace {

Status write_file(const std::string& path, const std::string& text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.valid() && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return {};
  return unavailable("no memory limit can be set: ", path, ": ", std::strerror(errno));
}

}  // namespace

Status MemoryGroups::limit(std::string_view id, pid_t process, uint64_t bytes) const {
  if (directory_.empty()) return {};
  const std::string path = group(id);
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return unavailable("no memory limit can be set: ", path, ": ", std::strerror(errno));
  const bool is_v1 = ::access((path + "/memory.limit_in_bytes").c_str(), F_OK) == 0;
  ATOLL_RETURN_IF_ERROR(write_file(path + (is_v1 ? "/memory.limit_in_bytes" : "/memory.max"), cat(bytes)));
  return write_file(path + "/cgroup.procs", cat(process));
}

void MemoryGroups::remove(std::string_view id) const noexcept {
  if (!directory_.empty()) ::rmdir(group(id).c_str());
}

}  // namespace atl::launchers
