#include "atoll/lib/running_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "atoll/core/clock.h"
#include "atoll/core/utf8.h"
#include "atoll/lib/program_start.h"

namespace atl {
namespace {

constexpr size_t kPipeBytes = 64 << 10, kLineBytesMax = 400;
constexpr int64_t kPollMsMax = 60'000;

int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Memory, not a pipe: nobody has to write while the program reads. None for an empty text. \returns false: no memory
bool put_in_memory(std::string_view text, FileDescriptor& memory) {
  if (text.empty()) return true;
  memory = FileDescriptor(::memfd_create("input", MFD_CLOEXEC));
  return memory.valid() &&
         ::write(memory.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
         ::lseek(memory.get(), 0, SEEK_SET) == 0;
}

}  // namespace

bool RunningProgram::Written::open(size_t bytes_kept) {
  bytes_max = bytes_kept;
  int ends[2];
  if (bytes_max == 0) return true;
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  reader = FileDescriptor(ends[0]);
  writer = FileDescriptor(ends[1]);
  // Only this end: what the program writes must wait, not fail.
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return true;
}

/// All that is in the pipe now.
void RunningProgram::Written::read() {
  if (!reader.valid()) return;
  std::array<char, kPipeBytes> bytes;
  const ssize_t size = ::read(reader.get(), bytes.data(), bytes.size());
  if (size == 0) reader = FileDescriptor();
  if (size <= 0) return;
  text.append(bytes.data(), static_cast<size_t>(size));
  if (text.size() > bytes_max) text.erase(0, text.size() - bytes_max);
}

Result<RunningProgram> RunningProgram::start(const ProgramCall& call) {
  RunningProgram program;
  Written &output = program.output_, &errors = program.errors_;
  FileDescriptor input;
  if (!put_in_memory(call.input, input) || !output.open(call.output_bytes_max) ||
      !errors.open(call.errors_bytes_max))
    return make_status(Code::kResourceExhausted, "no pipe and memory for a program: ", std::strerror(errno));
  const ProgramFiles files = {.output = output.bytes_max == 0 ? STDOUT_FILENO : output.writer.get(),
                              .errors = errors.bytes_max == 0 ? STDERR_FILENO : errors.writer.get(),
                              .input = input.get()};
  Result<ProcessHandle> process = start_program(call.path.empty() ? call.words[0] : call.path, call.words,
                                                call.environment, files, Leads::kGroup);
  if (!process.ok()) return std::move(process).status();
  program.process_ = std::move(process).value();
  program.leaves_group_ = call.leaves_group;
  // So that a pipe ends with the program.
  output.writer = FileDescriptor();
  errors.writer = FileDescriptor();
  return program;
}

std::optional<ProcessEnd> RunningProgram::wait(int64_t timeout_ns) {
  const int64_t begun_ns = now_ns();
  while (process_.valid()) {
    const int64_t left_ns = timeout_ns - (now_ns() - begun_ns);
    const int64_t left_ms = std::clamp<int64_t>(left_ns / kNsPerMs + (left_ns % kNsPerMs > 0), 0, kPollMsMax);
    pollfd waited[] = {{process_.descriptor(), POLLIN, 0},
                       {output_.reader.get(), POLLIN, 0},
                       {errors_.reader.get(), POLLIN, 0}};
    if (::poll(waited, std::size(waited), static_cast<int>(left_ms)) < 0 && errno != EINTR)
      return std::nullopt;
    // Before it is read: nothing is written any more then.
    const std::optional<ProcessEnd> end = process_.reap(!leaves_group_);
    output_.read();
    errors_.read();
    if (end || left_ns <= 0) return end;
  }
  return std::nullopt;
}

std::string last_line_of(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);  // npos + 1 is 0
  text.remove_prefix(text.rfind('\n') + 1);
  return replace_invalid_utf8(text.substr(0, kLineBytesMax));
}

}  // namespace atl
