#include "backends/python/process/packed_environments.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace atl::python {
namespace {

namespace fs = std::filesystem;

/// By the tar of the system, which lets no name, and no link, lead out of the folder. Whoever owned the files, the server does then.
Status run_tar(const std::string& archive, const std::string& folder) {
  const char* words[] = {"tar",           "-x", "--no-same-owner", "-f",
                         archive.c_str(), "-C", folder.c_str(),    nullptr};
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  pid_t pid = 0;
  const int failed =
      ::posix_spawnp(&pid, words[0], &files, nullptr, const_cast<char* const*>(words), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return unavailable("tar cannot be started: ", std::strerror(failed));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return unavailable(archive, " cannot be unpacked: tar has failed");
}

void remove_folder(const std::string& folder) noexcept {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

}  // namespace

PackedEnvironments::~PackedEnvironments() {
  for (const auto& [key, folder] : folders_) remove_folder(folder);
}

bool PackedEnvironments::is_packed(std::string_view path) noexcept {
  return path.ends_with(".tar.gz") || path.ends_with(".tgz") || path.ends_with(".tar");
}

Result<std::string> PackedEnvironments::unpack(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return not_found("EXECUTION_ENV_PATH '", path, "' is no file");
  }
  std::lock_guard lock(mutex_);
  std::string& folder =
      folders_[cat(path, "|", found.st_mtim.tv_sec, ".", found.st_mtim.tv_nsec, "|", found.st_size)];
  if (!folder.empty()) return folder;
  std::error_code error;
  std::string made = (fs::temp_directory_path(error) / "atoll-python-env-XXXXXX").string();
  if (error || ::mkdtemp(made.data()) == nullptr) {
    return unavailable("no folder can be made for the environment: ",
                       error ? error.message() : std::strerror(errno));
  }
  // Workers of another user read it too; what is in it is not secret, and only this user can change it.
  (void)::chmod(made.c_str(), 0755);
  if (Status status = run_tar(path, made); !status.ok()) {
    remove_folder(made);
    return status;
  }
  folder = made;
  return folder;
}

}  // namespace atl::python
