#include "atoll/runtime/child_run.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace atl::runtime {
namespace {

constexpr size_t kTextBytesMost = 64 * 1024;

}  // namespace

Result<ChildRun> ChildRun::start(const std::vector<std::string>& arguments) noexcept {
  // Memory, not a pipe: nobody has to read while it writes.
  const int output = ::memfd_create("child-output", MFD_CLOEXEC);
  if (output < 0) return unavailable("no memory for the output of a process: ", std::strerror(errno));
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  pid_t process = 0;
  const int failed = ::posix_spawn(&process, "/proc/self/exe", &files, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) {
    ::close(output);
    return unavailable("no process can be made: ", std::strerror(failed));
  }
  return ChildRun(process, output);
}

ChildRun::ChildRun(ChildRun&& other) noexcept
    : process_(std::exchange(other.process_, 0)), output_(std::exchange(other.output_, -1)) {}

ChildRun::~ChildRun() {
  if (process_ != 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  if (output_ >= 0) ::close(output_);
}

std::optional<ChildRun::End> ChildRun::poll() noexcept {
  int status = 0;
  const pid_t ended = ::waitpid(process_, &status, WNOHANG);
  if (ended == 0) return std::nullopt;
  process_ = 0;
  End end;
  end.crashed = ended > 0 && WIFSIGNALED(status);
  end.text.resize(kTextBytesMost);
  const ssize_t size = ::pread(output_, end.text.data(), end.text.size(), 0);
  end.text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return end;
}

}  // namespace atl::runtime
