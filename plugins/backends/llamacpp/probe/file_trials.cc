#include "backends/llamacpp/probe/file_trials.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/lib/program_start.h"
#include "atoll/lib/running_program.h"

namespace atl::llamacpp {
namespace {

constexpr size_t kOutputBytesMax = 1 << 20;
constexpr size_t kErrorBytesMax = 16 << 10;

/// The line of a failed assertion, where llama.cpp has written one with a backtrace behind it.
std::string reason_in(const std::string& errors) {
  for (const char* mark : {"GGML_ASSERT(", "GGML_ABORT(", "terminate called"}) {
    const size_t at = errors.find(mark);
    if (at == std::string::npos) continue;
    return last_line_of(errors.substr(at, errors.find('\n', at) - at));
  }
  return last_line_of(errors);
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

Result<GgufFacts> run_trial(const TrialSettings& settings, const TriedFiles& files, uint64_t file_bytes) {
  const std::string& path = files.subject();
  const uint64_t memory = settings.memory_bytes + 3 * file_bytes;
  const int64_t seconds = (settings.timeout_ns + kNsPerSecond - 1) / kNsPerSecond;
  std::vector<std::string> words = {settings.program, settings.engine_folder, files.model,
                                    std::to_string(memory), std::to_string(seconds)};
  if (!files.adapter.empty()) words.push_back(files.adapter);
  const std::vector<std::string> environment = {"PATH=/usr/bin:/bin", "LC_ALL=C",
                                                // No debugger is asked for a backtrace.
                                                "GGML_NO_BACKTRACE=1"};
  const std::vector<char*> variables = pointers_of(environment);
  Result<RunningProgram> program = RunningProgram::start({.words = words,
                                                          .environment = variables.data(),
                                                          .output_bytes_max = kOutputBytesMax,
                                                          .errors_bytes_max = kErrorBytesMax});
  if (!program.ok()) return std::move(program).status();
  const std::optional<ProcessEnd> end = program->wait(settings.timeout_ns);
  if (!end) {
    return invalid_argument("model file '", path, "': its trial had not ended after ", seconds,
                            " s (option probe_timeout)");
  }
  if (end->signal == 0 && end->status == 0) {
    Result<GgufFacts> facts = read_facts(program->output());
    if (!facts.ok()) return internal_error("model file '", path, "': ", facts.status().message());
    return facts;
  }
  // The program tells what is wrong with the file by itself, and then exits with 1.
  const std::string reason = reason_in(program->errors());
  if (end->signal == 0 && end->status == 1 && !reason.empty())
    return invalid_argument(reason.starts_with("model file") ? "" : cat("model file '", path, "': "), reason);
  return invalid_argument("model file '", path, "': its trial ", end->text(), reason.empty() ? "" : ": ",
                          reason);
}

Result<FileTrials::Identities> FileTrials::identities_of(const TriedFiles& files) {
  Result<GgufIdentity> model = GgufIdentity::of(files.model);
  if (!model.ok()) return std::move(model).status();
  if (files.adapter.empty()) return Identities{*model, {}};
  Result<GgufIdentity> adapter = GgufIdentity::of(files.adapter);
  if (!adapter.ok()) return std::move(adapter).status();
  return Identities{*model, *adapter};
}

Result<GgufFacts> FileTrials::facts_of(const TrialSettings& settings, const TriedFiles& files) {
  Result<Identities> before = identities_of(files);
  if (!before.ok()) return std::move(before).status();
  {
    std::lock_guard lock(mutex_);
    if (const auto known = passed_.find(*before); known != passed_.end()) return known->second;
  }
  Result<GgufFacts> facts = run_trial(settings, files, before->first.size_bytes + before->second.size_bytes);
  if (!facts.ok()) return facts;
  Result<Identities> after = identities_of(files);
  if (!after.ok() || *after != *before)
    return unavailable("model file '", files.subject(), "' was changed while it was tried");
  std::lock_guard lock(mutex_);
  if (passed_.size() >= kRememberedMax) passed_.clear();
  passed_.emplace(*before, *facts);
  return facts;
}

}  // namespace atl::llamacpp
