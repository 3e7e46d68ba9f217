#include "backends/python/process/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "atoll/core/thread_cpus.h"
#include "atoll/lib/program_start.h"

namespace atl::python {
namespace {

struct Pipe {
  FileDescriptor read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return make_status(Code::kResourceExhausted, "no pipe can be made: ", std::strerror(errno));
  }
  Pipe pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  // Only this end: what the process writes must wait, not fail.
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

Status limit(pid_t pid, __rlimit_resource which, uint64_t most, std::string_view what) {
  if (most == 0) return {};
  const rlimit to = {most, most};
  if (::prlimit(pid, which, &to, nullptr) == 0) return {};
  return unavailable("its ", what, " cannot be limited to ", most, ": ", std::strerror(errno));
}

Status set_limits(pid_t pid, const ProcessLimits& limits) {
  if (!limits.groups.memory) ATOLL_RETURN_IF_ERROR(limit(pid, RLIMIT_AS, limits.memory_bytes, "memory"));
  ATOLL_RETURN_IF_ERROR(limit(pid, RLIMIT_NOFILE, limits.open_files, "file descriptors"));
  if (!limits.groups.processes)
    ATOLL_RETURN_IF_ERROR(limit(pid, RLIMIT_NPROC, limits.processes, "processes"));
  const rlimit no_core = {0, 0};
  (void)::prlimit(pid, RLIMIT_CORE, &no_core, nullptr);
  return {};
}

}  // namespace

Result<WorkerProcess> WorkerProcess::start(const ProcessSpec& spec) {
  Result<Pipe> output = make_pipe();
  if (!output.ok()) return std::move(output).status();
  Result<Pipe> errors = make_pipe();
  if (!errors.ok()) return std::move(errors).status();
  static_assert(kControlDescriptor == ProgramFiles::kOwnDescriptor);
  const std::vector<uint32_t>& cores = spec.limits.cpu_cores;
  const ThreadCpus cpus = cores.empty() ? ThreadCpus::all_but_first() : ThreadCpus(cores);
  if (!cores.empty() && cpus.failed() != 0) {
    return unavailable("it cannot be bound to its CPU cores: ", std::strerror(cpus.failed()));
  }
  const ProgramFiles files = {
      .output = output->write.get(), .errors = errors->write.get(), .own = spec.control};
  Result<ProcessHandle> started =
      start_program(spec.words[0], spec.words, pointers_of(spec.environment).data(), files, Leads::kGroup);
  if (!started.ok()) return std::move(started).status();
  WorkerProcess process;
  process.process_ = std::move(started).value();
  process.output_ = std::move(output->read);
  process.errors_ = std::move(errors->read);
  if (!spec.limits.groups.path.empty()) {
    Result<ControlGroup> group = ControlGroup::create(spec.limits.groups, spec.limits);
    if (!group.ok()) return std::move(group).status();
    process.group_ = std::move(group).value();
    ATOLL_RETURN_IF_ERROR(process.group_.add(process.pid()));
  }
  if (spec.user.empty()) ATOLL_RETURN_IF_ERROR(set_limits(process.pid(), spec.limits));
  process.may_fork_on_ =
      spec.limits.processes != 0 && !spec.limits.groups.processes && spec.user.empty() && ::geteuid() == 0;
  return process;
}

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  WorkerProcess former(std::move(*this));
  may_fork_on_ = other.may_fork_on_;
  group_ = std::move(other.group_);
  process_ = std::move(other.process_);
  output_ = std::move(other.output_);
  errors_ = std::move(other.errors_);
  return *this;
}

WorkerProcess::~WorkerProcess() {
  signal_group(SIGKILL);
  process_.kill();
}

void WorkerProcess::signal_group(int number) const noexcept {
  if (!process_.valid()) return;
  process_.signal_group(number);
  if (number == SIGKILL) group_.kill_all();
}

std::optional<ProcessEnd> WorkerProcess::reap() noexcept {
  std::optional<ProcessEnd> end = process_.reap();
  if (end) group_.kill_all();
  return end;
}

Result<std::string> find_program(const std::string& program, const std::string& path) {
  const auto is_program = [](const std::string& file) {
    struct stat found = {};
    return ::stat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode) && ::access(file.c_str(), X_OK) == 0;
  };
  if (program.find('/') != std::string::npos) {
    if (is_program(program)) return program;
    return not_found("'", program, "' is no program");
  }
  std::string_view left = path;
  while (!program.empty() && !left.empty()) {
    const size_t end = left.find(':');
    const std::string file = cat(left.substr(0, end), "/", program);
    if (is_program(file)) return file;
    left = end == std::string_view::npos ? std::string_view() : left.substr(end + 1);
  }
  return not_found("there is no program '", program, "' in the folders of PATH, which is '", path, "'");
}

}  // namespace atl::python
