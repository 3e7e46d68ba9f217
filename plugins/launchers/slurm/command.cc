#include "launchers/slurm/command.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/file_descriptor.h"
#include "atoll/core/utf8.h"

namespace atl::launchers {
namespace {

constexpr size_t kOutputBytesMax = size_t{16} << 20, kErrorBytesMax = 300;

/// Memory, not a pipe: nobody has to read while the other one writes.
FileDescriptor make_memory(const std::string& text) {
  FileDescriptor memory(::memfd_create("command", MFD_CLOEXEC));
  if (!memory.valid() ||
      ::write(memory.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::lseek(memory.get(), 0, SEEK_SET) != 0)
    return FileDescriptor();
  return memory;
}

std::string read_all(const FileDescriptor& memory) {
  const off_t size = ::lseek(memory.get(), 0, SEEK_END);
  std::string text(std::min(kOutputBytesMax, static_cast<size_t>(std::max<off_t>(size, 0))), '\0');
  const ssize_t bytes = ::pread(memory.get(), text.data(), text.size(), 0);
  text.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  return text;
}

std::string last_line_of(std::string_view text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  const size_t before = text.find_last_of('\n', end);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return replace_invalid_utf8(text.substr(begin, std::min(end + 1 - begin, kErrorBytesMax)));
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  return all;
}

struct SpawnSettings {
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes, &signals);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

/// \returns false: it did not end in time, and was killed
bool wait_for(pid_t process, int64_t timeout_ns, int* status) {
  const FileDescriptor descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  pollfd ended{descriptor.get(), POLLIN, 0};
  const auto timeout_ms = static_cast<int>(std::min<int64_t>(timeout_ns / kNsPerMs, INT_MAX));
  int count = 0;
  do {
    count = ::poll(&ended, 1, timeout_ms);
  } while (count < 0 && errno == EINTR);
  if (count != 1) ::kill(process, SIGKILL);
  ::waitpid(process, status, 0);
  return count == 1;
}

}  // namespace

Result<CommandOutput> run_command(const std::vector<std::string>& words, const std::string& input,
                                  const std::vector<std::string>& environment, int64_t timeout_ns) {
  const FileDescriptor in = make_memory(input), out = make_memory({}), errors = make_memory({});
  if (!in.valid() || !out.valid() || !errors.valid())
    return unavailable(words[0], ": no memory for what it reads and prints: ", std::strerror(errno));
  SpawnSettings settings;
  ::posix_spawn_file_actions_adddup2(&settings.files, in.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&settings.files, out.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&settings.files, errors.get(), STDERR_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&settings.files, STDERR_FILENO + 1);
  std::vector<char*> argv = pointers(words), envp = pointers(environment);
  argv.push_back(nullptr);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("ATOLL__")) envp.push_back(*variable);
  }
  envp.push_back(nullptr);
  pid_t process = 0;
  if (const int failed =
          ::posix_spawnp(&process, argv[0], &settings.files, &settings.attributes, argv.data(), envp.data());
      failed != 0)
    return unavailable(words[0], ": ", std::strerror(failed));
  int status = 0;
  if (!wait_for(process, timeout_ns, &status))
    return unavailable(words[0], " did not end in ", timeout_ns / kNsPerMs, " ms");
  CommandOutput output;
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  output.output = read_all(out);
  // A part of a list would say that the rest is not there.
  if (output.output.size() == kOutputBytesMax)
    return unavailable(words[0], " prints more than ", kOutputBytesMax >> 20, " MiB");
  output.errors = last_line_of(read_all(errors));
  return output;
}

}  // namespace atl::launchers
