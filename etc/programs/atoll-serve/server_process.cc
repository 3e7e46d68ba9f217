#include "server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "atoll/lib/program_start.h"

namespace atl::serve {
namespace {

constexpr int kCannotRun = 127;

sigset_t watched() noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD})
    ::sigaddset(&set, number);
  return set;
}

/// In the child: nothing but calls that are safe after a fork.
[[noreturn]] void become(pid_t parent, char* const* words) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kCannotRun);
  ::setpgid(0, 0);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(words[0], words);
  ::dprintf(STDERR_FILENO, "%s: cannot be run: %s\n", words[0], std::strerror(errno));
  ::_exit(kCannotRun);
}

}  // namespace

Result<SignalFeed> SignalFeed::open() {
  const sigset_t set = watched();
  FileDescriptor feed(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!feed.valid() || ::sigprocmask(SIG_BLOCK, &set, nullptr) != 0)
    return unavailable("signals cannot be read: ", std::strerror(errno));
  ::signal(SIGPIPE, SIG_IGN);  // a reader that has gone ends nothing
  return SignalFeed(std::move(feed));
}

int SignalFeed::next(int timeout_ms) const noexcept {
  pollfd waited{feed_.get(), POLLIN, 0};
  ::poll(&waited, 1, timeout_ms);
  signalfd_siginfo info{};
  return ::read(feed_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

Result<ServerProcess> ServerProcess::start(const std::vector<std::string>& arguments) {
  const std::vector<char*> words = pointers_of(arguments);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) become(parent, words.data());
  if (process < 0) return unavailable("no process can be made: ", std::strerror(errno));
  ::setpgid(process, process);  // the child does it as well; whoever is first
  return ServerProcess(process);
}

ServerProcess::~ServerProcess() {
  if (process_ == 0) return;
  send(SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void ServerProcess::send(int signal_number) const noexcept {
  if (process_ != 0) ::kill(process_, signal_number);
}

std::optional<int> ServerProcess::poll() noexcept {
  int status = 0;
  if (process_ == 0 || ::waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
  process_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace atl::serve
