#include "launchers/process/child.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "atoll/core/thread_cpus.h"
#include "atoll/lib/program_start.h"
#include "launchers/common/server_environment.h"

namespace atl::launchers {
namespace {

static_assert(ProgramFiles::kOwnDescriptor == 3);
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
  const ThreadCpus cpus(spec.cpu_cores);
  if (cpus.failed() != 0)
    return make_status(Code::kResourceExhausted,
                       "its CPU cores cannot be used: ", std::strerror(cpus.failed()));
  Result<ProcessHandle> process =
      start_program("/bin/sh", words, with_own_environment(spec.environment).data(),
                    {.output = log.get(), .errors = log.get(), .own = wait.get()}, Leads::kSession);
  if (!process.ok()) return std::move(process).status();
  return Child(std::move(process).value(), std::move(go));
}

Result<ProcessHandle> Child::go() {
  // SIGPIPE is ignored by the server; tests have to.
  if (::write(go_.get(), "go\n", 3) != 3) return unavailable("it has ended before it began");
  go_ = FileDescriptor();
  return std::move(process_);
}

}  // namespace atl::launchers
