#include "atoll/lib/process_handle.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

namespace atl {

std::string ProcessEnd::text() const {
  if (signal != 0) return cat("was killed by signal ", signal, " (", ::strsignal(signal), ")");
  return status < 0 ? "ended" : cat("exited with status ", status);
}

// By their numbers: <sys/pidfd.h> of Debian 12 cannot be linked from C++.
Result<ProcessHandle> ProcessHandle::open(pid_t pid) {
  FileDescriptor descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (descriptor.valid()) return ProcessHandle(pid, std::move(descriptor));
  if (errno == ESRCH) return not_found("there is no process ", pid);
  return make_status(Code::kResourceExhausted, "process ", pid, " cannot be watched: ", std::strerror(errno));
}

void ProcessHandle::signal(int number) const noexcept {
  if (valid()) (void)::syscall(SYS_pidfd_send_signal, descriptor_.get(), number, nullptr, 0);
}

void ProcessHandle::signal_group(int number) const noexcept {
  // As long as nobody has waited for the leader its number is no other group's.
  if (valid()) (void)::kill(-pid_, number);
}

std::optional<ProcessEnd> ProcessHandle::reap(bool with_group) noexcept { return wait(WNOHANG, with_group); }

void ProcessHandle::kill() noexcept {
  signal_group(SIGKILL);
  (void)wait(0, true);
}

std::optional<ProcessEnd> ProcessHandle::wait(int how, bool with_group) noexcept {
  if (!valid()) return std::nullopt;
  siginfo_t info = {};
  const auto id = static_cast<id_t>(pid_);
  if (::waitid(P_PID, id, &info, WEXITED | WNOWAIT | how) != 0) {
    descriptor_ = FileDescriptor();
    return ProcessEnd{0, -1};  // no child, or somebody else has waited for it
  }
  if (info.si_pid == 0) return std::nullopt;
  if (with_group) signal_group(SIGKILL);
  (void)::waitid(P_PID, id, &info, WEXITED);
  descriptor_ = FileDescriptor();
  return info.si_code == CLD_EXITED ? ProcessEnd{0, info.si_status} : ProcessEnd{info.si_status, 0};
}

}  // namespace atl
