#include "backends/llamacpp/probe/file_trials.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/file_descriptor.h"
#include "atoll/core/utf8.h"
#include "atoll/lib/program_start.h"

namespace atl::llamacpp {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kOutputBytesMax = 1 << 20;
constexpr size_t kErrorBytesMax = 16 << 10;
constexpr size_t kReasonBytesMax = 400;

struct OutputPipe {
  FileDescriptor read, write;
  std::string text;
  size_t most = 0;

  bool open(size_t bytes_max) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read = FileDescriptor(ends[0]);
    write = FileDescriptor(ends[1]);
    most = bytes_max;
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return true;
  }
  /// \returns false: nothing more comes
  bool take() {
    char bytes[4096];
    while (true) {
      const ssize_t size = ::read(read.get(), bytes, sizeof bytes);
      if (size > 0) {
        // The end of what is written says most.
        text.append(bytes, static_cast<size_t>(size));
        if (text.size() > most) text.erase(0, text.size() - most);
        continue;
      }
      if (size < 0 && errno == EINTR) continue;
      return size < 0 && errno == EAGAIN;
    }
  }
};

/// The last line that says something.
std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const size_t begin = text.rfind('\n');
  std::string line = replace_invalid_utf8(text.substr(begin == std::string::npos ? 0 : begin + 1));
  if (line.size() > kReasonBytesMax) line.resize(kReasonBytesMax);
  return line;
}

/// The line of a failed assertion, where llama.cpp has written one with a backtrace behind it.
std::string reason_in(const std::string& errors) {
  for (const char* mark : {"GGML_ASSERT(", "GGML_ABORT(", "terminate called"}) {
    const size_t at = errors.find(mark);
    if (at == std::string::npos) continue;
    return last_line(errors.substr(at, errors.find('\n', at) - at));
  }
  return last_line(errors);
}

std::string end_text(int status) {
  if (WIFSIGNALED(status))
    return cat("was killed by signal ", WTERMSIG(status), " (", ::strsignal(WTERMSIG(status)), ")");
  return cat("exited with status ", WEXITSTATUS(status));
}

/// Reads both pipes until they are closed. \returns false: the time is over
bool read_all(OutputPipe& output, OutputPipe& errors, SteadyClock::time_point until) {
  bool output_open = true, errors_open = true;
  while (output_open || errors_open) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now());
    if (left.count() <= 0) return false;
    pollfd polled[2] = {{output_open ? output.read.get() : -1, POLLIN, 0},
                        {errors_open ? errors.read.get() : -1, POLLIN, 0}};
    if (::poll(polled, 2, static_cast<int>(std::min<int64_t>(left.count(), 60'000))) < 0 && errno != EINTR)
      return false;
    if (polled[0].revents != 0) output_open = output.take();
    if (polled[1].revents != 0) errors_open = errors.take();
  }
  return true;
}

}  // namespace

Result<GgufIdentity> GgufIdentity::of(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    const Code code = errno == ENOENT ? Code::kNotFound : Code::kInvalidArgument;
    return make_status(code, "model file '", path, "': ", std::strerror(errno));
  }
  return GgufIdentity{info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size),
                      info.st_mtim.tv_sec * kNsPerSecond + info.st_mtim.tv_nsec};
}

Result<GgufFacts> run_trial(const TrialSettings& settings, const std::string& path, uint64_t file_bytes) {
  OutputPipe output, errors;
  if (!output.open(kOutputBytesMax) || !errors.open(kErrorBytesMax))
    return unavailable("no pipe can be made: ", std::strerror(errno));
  const uint64_t memory = settings.memory_bytes + 3 * file_bytes;
  const int64_t seconds = (settings.timeout_ns + kNsPerSecond - 1) / kNsPerSecond;
  const std::vector<std::string> words = {settings.program, settings.engine_folder, path,
                                          std::to_string(memory), std::to_string(seconds)};
  const std::vector<std::string> environment = {"PATH=/usr/bin:/bin", "LC_ALL=C",
                                                // No debugger is asked for a backtrace.
                                                "GGML_NO_BACKTRACE=1"};
  pid_t pid = 0;
  const ProgramStart start(ProgramStart::Leads::kGroup, output.write.get(), errors.write.get(),
                           errors.write.get());
  if (const int failed =
          start.run(&pid, settings.program.c_str(), pointers_of(words), pointers_of(environment));
      failed != 0)
    return unavailable("program '", settings.program, "' cannot be started: ", std::strerror(failed));
  output.write = FileDescriptor();
  errors.write = FileDescriptor();
  const auto until = SteadyClock::now() + std::chrono::nanoseconds(settings.timeout_ns);
  const bool in_time = read_all(output, errors, until);
  if (!in_time) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) {
    return invalid_argument("model file '", path, "': its trial had not ended after ", seconds,
                            " s (option probe_timeout)");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    Result<GgufFacts> facts = read_facts(output.text);
    if (!facts.ok()) return internal_error("model file '", path, "': ", facts.status().message());
    return facts;
  }
  // The program tells what is wrong with the file by itself, and then exits with 1.
  const std::string reason = reason_in(errors.text);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && !reason.empty())
    return invalid_argument(reason.starts_with("model file") ? "" : cat("model file '", path, "': "), reason);
  return invalid_argument("model file '", path, "': its trial ", end_text(status), reason.empty() ? "" : ": ",
                          reason);
}

Result<GgufFacts> FileTrials::facts_of(const TrialSettings& settings, const std::string& path) {
  Result<GgufIdentity> before = GgufIdentity::of(path);
  if (!before.ok()) return std::move(before).status();
  {
    std::lock_guard lock(mutex_);
    if (const auto known = passed_.find(*before); known != passed_.end()) return known->second;
  }
  Result<GgufFacts> facts = run_trial(settings, path, before->size_bytes);
  if (!facts.ok()) return facts;
  Result<GgufIdentity> after = GgufIdentity::of(path);
  if (!after.ok() || *after != *before)
    return unavailable("model file '", path, "' was changed while it was tried");
  std::lock_guard lock(mutex_);
  if (passed_.size() >= kRememberedMax) passed_.clear();
  passed_.emplace(*before, *facts);
  return facts;
}

}  // namespace atl::llamacpp
