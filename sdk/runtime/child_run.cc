#include "atoll/runtime/child_run.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "atoll/runtime/fault_report.h"

namespace atl::runtime {
namespace {

constexpr off_t kTextBytesMost = 64 * 1024;
constexpr size_t kLineBytesMost = 400;

std::string_view last_line(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \r\n") + 1);
  text.remove_prefix(text.rfind('\n') + 1);  // npos + 1 is 0
  return text.substr(0, kLineBytesMost);
}

}  // namespace

Result<ChildRun> ChildRun::start(std::vector<std::string> arguments, std::string_view option,
                                 const std::vector<std::string>& values) noexcept {
  Result<ScratchFolder> folder = ScratchFolder::make("atoll-trial");
  if (!folder.ok()) return std::move(folder).status();
  arguments.push_back(cat(option, "=", folder->path()));
  for (const std::string& value : values) arguments.push_back(cat(option, "=", value));
  // Memory, not pipes: nobody has to read while it writes.
  FileDescriptor output(::memfd_create("child-output", MFD_CLOEXEC));
  FileDescriptor errors(::memfd_create("child-errors", MFD_CLOEXEC));
  if (output.get() < 0 || errors.get() < 0)
    return unavailable("no memory for the output of a process: ", std::strerror(errno));
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, errors.get(), STDERR_FILENO);
  posix_spawnattr_t how;
  ::posix_spawnattr_init(&how);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&how, 0);
  pid_t process = 0;
  const int failed = ::posix_spawn(&process, "/proc/self/exe", &files, &how, argv.data(), environ);
  ::posix_spawnattr_destroy(&how);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return unavailable("no process can be made: ", std::strerror(failed));
  return ChildRun(process, std::move(folder).value(), std::move(output), std::move(errors));
}

void ChildRun::begin(const char* thread_name) noexcept {
  ::pthread_setname_np(::pthread_self(), thread_name);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ThreadNote::write_to(STDOUT_FILENO);
}

ChildRun::ChildRun(ChildRun&& other) noexcept
    : process_(std::exchange(other.process_, 0)),
      folder_(std::move(other.folder_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)) {}

ChildRun::~ChildRun() {
  if (process_ == 0) return;
  ::kill(-process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

std::optional<ChildRun::End> ChildRun::poll() noexcept {
  // Left as it is until its group was told to end: while it is there, nobody else can have its number.
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid == 0)
    return std::nullopt;
  ::kill(-process_, SIGKILL);
  int status = 0;
  const pid_t ended = ::waitpid(process_, &status, 0);
  process_ = 0;
  End end;
  if (ended > 0 && WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (ended > 0 && WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

std::string ChildRun::last_note() const {
  const std::string note = ThreadNote::last_told(tail(output_));
  return note.empty() ? note : cat(", while ", note);
}

std::string ChildRun::end_text(const End& end) const {
  const std::string errors = tail(errors_);
  std::string_view said = errors, report;
  if (const size_t fault = said.find("atoll: fatal: "); fault != std::string::npos) {
    report = said.substr(fault, said.find_last_not_of(" \n") + 1 - fault);
    said = said.substr(0, fault);
  }
  const std::string_view words = last_line(said);
  const std::string also = words.empty() ? "" : cat("; it said last: ", words);
  if (!report.empty()) return cat(report, also);
  const char* name = ::sigabbrev_np(end.signal);
  return cat(end.exit_code >= 0 ? cat("exit code ", end.exit_code) : cat("SIG", name == nullptr ? "?" : name),
             last_note(), also);
}

std::string ChildRun::tail(const FileDescriptor& file) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return {};
  std::string text(static_cast<size_t>(std::min(info.st_size, kTextBytesMost)), '\0');
  const ssize_t size =
      ::pread(file.get(), text.data(), text.size(), info.st_size - static_cast<off_t>(text.size()));
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

Result<ScratchFolder> ScratchFolder::make(std::string_view name) noexcept {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / cat(name, "-XXXXXX")).string();
  if (error || ::mkdtemp(path.data()) == nullptr)
    return unavailable("no folder can be made like ", path, ": ",
                       error ? error.message() : std::strerror(errno));
  return ScratchFolder(std::move(path));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace atl::runtime
