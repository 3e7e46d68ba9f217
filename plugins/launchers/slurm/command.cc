#include "launchers/slurm/command.h"

#include <optional>

#include "atoll/core/clock.h"
#include "atoll/lib/running_program.h"
#include "launchers/common/server_environment.h"

namespace atl::launchers {

Result<CommandOutput> run_command(const std::vector<std::string>& words, const std::string& input,
                                  const std::vector<std::string>& environment, int64_t timeout_ns) {
  constexpr size_t kOutputBytesMax = size_t{16} << 20, kErrorBytesMax = 4 << 10;
  const std::vector<char*> variables = with_own_environment(environment);
  Result<RunningProgram> program = RunningProgram::start({.words = words,
                                                          .environment = variables.data(),
                                                          .input = input,
                                                          .output_bytes_max = kOutputBytesMax,
                                                          .errors_bytes_max = kErrorBytesMax,
                                                          .leaves_group = true});
  if (!program.ok()) return unavailable(program.status().message());
  const std::optional<ProcessEnd> end = program->wait(timeout_ns);
  if (!end) return unavailable(words[0], " did not end in ", timeout_ns / kNsPerMs, " ms");
  // A part of a list would say that the rest is not there.
  if (program->output().size() == kOutputBytesMax)
    return unavailable(words[0], " prints more than ", kOutputBytesMax >> 20, " MiB");
  return CommandOutput{end->signal == 0 ? end->status : 128 + end->signal, program->output(),
                       last_line_of(program->errors())};
}

}  // namespace atl::launchers
