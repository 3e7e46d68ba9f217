#include "backends/python/process/packed_environments.h"

#include <sys/stat.h>

#include "atoll/lib/running_program.h"

namespace atl::python {
namespace {

/// By the tar of the system, which lets no name, and no link, lead out of the folder. Whoever owned the files, the server does then.
Status run_tar(const std::string& archive, const std::string& folder) {
  Result<RunningProgram> tar =
      RunningProgram::start({.words = {"tar", "-x", "--no-same-owner", "-f", archive, "-C", folder}});
  if (!tar.ok()) return std::move(tar).status();
  const ProcessEnd end = tar->wait(RunningProgram::kNoTimeout).value_or(ProcessEnd{0, -1});
  if (end.signal == 0 && end.status == 0) return {};
  return unavailable(archive, " cannot be unpacked: tar has failed");
}

}  // namespace

bool PackedEnvironments::is_packed(std::string_view path) noexcept {
  return path.ends_with(".tar.gz") || path.ends_with(".tgz") || path.ends_with(".tar");
}

Result<std::string> PackedEnvironments::unpack(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return not_found("EXECUTION_ENV_PATH '", path, "' is no file");
  }
  std::lock_guard lock(mutex_);
  ScratchFolder& folder =
      folders_[cat(path, "|", found.st_mtim.tv_sec, ".", found.st_mtim.tv_nsec, "|", found.st_size)];
  if (!folder.path().empty()) return folder.path();
  Result<ScratchFolder> made = ScratchFolder::make("atoll-python-env");
  if (!made.ok()) return std::move(made).status();
  // Workers of another user read it too; what is in it is not secret, and only this user can change it.
  (void)::chmod(made->path().c_str(), 0755);
  ATOLL_RETURN_IF_ERROR(run_tar(path, made->path()));
  folder = std::move(made).value();
  return folder.path();
}

}  // namespace atl::python
