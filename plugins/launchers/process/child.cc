#include "launchers/process/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "atoll/core/thread_cpus.h"
#include "atoll/lib/program_start.h"

namespace atl::launchers {
namespace {

static_assert(ProgramStart::kOwnDescriptor == 3);
/// What becomes the server waits in a shell, which needs nothing of this process's memory. End of file: it is not wanted.
constexpr const char* kWait = "read -r go <&3 && exec \"$@\" 3<&-";

}  // namespace

Result<Child> Child::start(const ChildSpec& spec) {
  const FileDescriptor log(::open(spec.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return unavailable("its log cannot be written: ", std::strerror(errno));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return make_status(Code::kResourceExhausted, "no pipe can be made: ", std::strerror(errno));
  const FileDescriptor wait(ends[0]);
  FileDescriptor go(ends[1]);
  std::vector<std::string> words = {"sh", "-c", kWait, "atoll-server"};
  words.insert(words.end(), spec.words.begin(), spec.words.end());
  std::vector<char*> environment = pointers_of(spec.environment);
  environment.pop_back();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("ATOLL__")) environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  const ThreadCpus cpus(spec.cpu_cores);
  if (cpus.failed() != 0)
    return make_status(Code::kResourceExhausted,
                       "its CPU cores cannot be used: ", std::strerror(cpus.failed()));
  const ProgramStart start(ProgramStart::Leads::kSession, log.get(), log.get(), wait.get());
  pid_t pid = 0;
  if (const int failed = start.run(&pid, "/bin/sh", pointers_of(words), environment); failed != 0)
    return make_status(Code::kResourceExhausted, "no process can be made: ", std::strerror(failed));
  return Child(pid, std::move(go));
}

Child::~Child() {
  if (!go_.valid()) return;
  go_ = FileDescriptor();
  (void)::waitpid(pid_, nullptr, 0);
}

Status Child::go() {
  // SIGPIPE is ignored by the server; tests have to.
  if (::write(go_.get(), "go\n", 3) != 3) return unavailable("it has ended before it began");
  go_ = FileDescriptor();
  return {};
}

// By their numbers: <sys/pidfd.h> of Debian 12 cannot be linked from C++.
Result<ProcessHandle> ProcessHandle::open(pid_t pid) {
  FileDescriptor descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (descriptor.valid()) return ProcessHandle(pid, std::move(descriptor));
  if (errno == ESRCH) return not_found("there is no process ", pid);
  return make_status(Code::kResourceExhausted, "process ", pid, " cannot be watched: ", std::strerror(errno));
}

void ProcessHandle::signal(int number) const noexcept {
  (void)::syscall(SYS_pidfd_send_signal, descriptor_.get(), number, nullptr, 0);
}

std::string ProcessHandle::reap() noexcept {
  siginfo_t info = {};
  // Its number stays its own until it is waited for, so the session is no other's yet.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0) return "it ended";
  (void)::kill(-pid_, SIGKILL);
  (void)::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED);
  if (info.si_code == CLD_EXITED) return cat("it exited with status ", info.si_status);
  return cat("it was ended by signal ", info.si_status, " (", ::strsignal(info.si_status), ")");
}

}  // namespace atl::launchers
