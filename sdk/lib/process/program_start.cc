#include "atoll/lib/program_start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace atl {

Result<ProcessHandle> start_program(const std::string& path, const std::vector<std::string>& words,
                                    char* const* environment, const ProgramFiles& files, Leads leads) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (files.input < 0) {
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  } else {
    ::posix_spawn_file_actions_adddup2(&actions, files.input, STDIN_FILENO);
  }
  ::posix_spawn_file_actions_adddup2(&actions, files.output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, files.errors, STDERR_FILENO);
  if (files.own >= 0) ::posix_spawn_file_actions_adddup2(&actions, files.own, ProgramFiles::kOwnDescriptor);
  ::posix_spawn_file_actions_addclosefrom_np(&actions,
                                             ProgramFiles::kOwnDescriptor + (files.own >= 0 ? 1 : 0));
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::sigfillset(&signals);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  const int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | static_cast<int>(leads);
  ::posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
  pid_t pid = 0;
  const int failed =
      ::posix_spawnp(&pid, path.c_str(), &actions, &attributes, pointers_of(words).data(), environment);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    const Code code = failed == EAGAIN || failed == ENOMEM ? Code::kResourceExhausted : Code::kUnavailable;
    return make_status(code, path, " cannot be started: ", std::strerror(failed));
  }
  Result<ProcessHandle> process = ProcessHandle::open(pid);
  if (!process.ok()) {
    ::kill(-pid, SIGKILL);
    (void)::waitpid(pid, nullptr, 0);
  }
  return process;
}

}  // namespace atl
