#include "kernel/server/plugin_trial.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include "atoll/runtime/fault_report.h"
#include "kernel/server/kernel.h"

namespace atl::kernel {
namespace {

constexpr int64_t kPollNs = 10 * kNsPerMs;
constexpr int64_t kDrainNs = kNsPerSecond;
constexpr size_t kOutputBytesMax = 64 << 10;
constexpr int kExitTried = 86;  // no plugin's exit() is taken for the end of a trial

/// Leaves what is tried and what that requires. \param failed  instances that have failed in this trial
void keep_tried(GenerationPlan& plan, const std::set<std::string>& tried, std::set<std::string> failed) {
  std::set<std::string> wanted;
  for (const PlannedInstance& planned : plan) {  // providers come first
    if (planned.library->has(ATOLL_PLUGIN_UNTRIED) ||
        std::ranges::any_of(planned.required, [&](const auto& name) { return failed.contains(name); })) {
      failed.insert(planned.config.name);
    }
  }
  for (const PlannedInstance& planned : plan | std::views::reverse) {
    const std::string& name = planned.config.name;
    if (failed.contains(name) || (!tried.contains(name) && !wanted.contains(name))) continue;
    wanted.insert(name);
    wanted.insert(planned.required.begin(), planned.required.end());
  }
  std::erase_if(plan, [&](const auto& planned) { return !wanted.contains(planned.config.name); });
}

/// ", while calling 'start' of plugin 'x' (examples/softmax)": the last note that the trial told; empty: none.
std::string last_note(const RunningProgram& trial) {
  const std::string note = runtime::ThreadNote::last_told(trial.output());
  return note.empty() ? note : cat(", while ", note);
}

/// The report of the fault that ended the trial, else "exit code 3" or "SIGKILL" and the last note.
std::string end_text(const RunningProgram& trial, const ProcessEnd& end) {
  std::string_view said = trial.errors(), report;
  if (const size_t fault = said.find("atoll: fatal: "); fault != std::string::npos) {
    report = said.substr(fault, said.find_last_not_of(" \n") + 1 - fault);
    said = said.substr(0, fault);
  }
  const std::string words = last_line_of(said);
  const std::string also = words.empty() ? "" : cat("; it said last: ", words);
  if (!report.empty()) return cat(report, also);
  const char* name = ::sigabbrev_np(end.signal);
  return cat(end.signal == 0 ? cat("exit code ", end.status) : cat("SIG", name == nullptr ? "?" : name),
             last_note(trial), also);
}

void settle(Kernel& kernel) {
  const int64_t ends_ns = kernel.clock().now_ns() + 2 * kDrainNs;
  kernel.loop().post_at(ends_ns, make_task([] {}));
  kernel.loop().run_until([&] { return kernel.lifecycle().idle() || kernel.clock().now_ns() >= ends_ns; });
}

}  // namespace

PluginTrial::PluginTrial(Kernel& kernel, std::function<bool()> end_requested,
                         std::function<void(Status)> done)
    : kernel_(kernel), end_requested_(std::move(end_requested)), done_(std::move(done)) {}

bool PluginTrial::begin(const ServerArguments& arguments) {
  runtime::Problems ignored;
  Result<Manifest> manifest = read_manifest(arguments.manifest_path, arguments.overrides, ignored);
  if (arguments.command_line.empty() || !manifest.ok()) return false;
  const auto names = new_instances(manifest.value(), arguments.default_plugin_path, kernel_.loader());
  if (names.empty()) return false;
  Result<ScratchFolder> folder = ScratchFolder::make("atoll-trial");
  ProgramCall call = {.words = arguments.command_line,
                      .path = "/proc/self/exe",
                      .output_bytes_max = kOutputBytesMax,
                      .errors_bytes_max = kOutputBytesMax};
  if (folder.ok()) call.words.push_back("--trial=" + folder->path());
  for (const std::string& name : names) call.words.push_back("--trial=" + name);
  Result<RunningProgram> child = folder.ok() ? RunningProgram::start(call) : std::move(folder).status();
  if (!child.ok()) {
    kernel_.log().warning("new plugin files are run untried: ", child.status().text());
    return false;
  }
  folder_.emplace(std::move(folder).value());
  child_.emplace(std::move(child).value());
  timeout_ns_ = manifest->server.trial_timeout_ns;
  ends_ns_ = kernel_.clock().now_ns() + timeout_ns_;
  poll();
  return true;
}

void PluginTrial::poll() {
  const std::optional<ProcessEnd> end = child_->wait(0);
  if (!end && !end_requested_() && kernel_.clock().now_ns() < ends_ns_) {
    kernel_.loop().post_at(kernel_.clock().now_ns() + kPollNs, make_task([this] { poll(); }));
    return;
  }
  constexpr std::string_view kWhat = "a trial of the new plugin files ";
  Status status;
  if (!end) {
    status = unavailable(kWhat, "takes more than ", timeout_ns_ / kNsPerMs, " ms", last_note(*child_));
  } else if (end->status != kExitTried) {
    status = Status(Code::kFailedPrecondition, cat(kWhat, "ended: ", end_text(*child_, *end)));
  }
  child_.reset();
  folder_.reset();
  if (!end_requested_()) done_(std::move(status));
}

void try_plugins(const ServerArguments& arguments, LogSink& sink, std::span<const std::string> trial) {
  ::pthread_setname_np(::pthread_self(), "atoll-trial");  // not after the link that it was started by
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  runtime::ThreadNote::write_to(STDOUT_FILENO);
  runtime::Problems told;  // by the server
  Result<Manifest> manifest = read_manifest(arguments.manifest_path, arguments.overrides, told);
  if (!manifest.ok()) ::_exit(kExitTried);
  Kernel kernel(sink, arguments.version, manifest->server.worker_threads);
  const std::set<std::string> tried(trial.begin() + 1, trial.end());
  std::set<std::string> failed;
  for (bool again = true; again;) {
    Result<GenerationPlan> plan =
        plan_generation(manifest.value(), arguments.default_plugin_path, kernel.loader());
    if (!plan.ok()) break;
    keep_tried(plan.value(), tried, failed);
    for (PlannedInstance& planned : plan.value()) {
      planned.options->set_for_trial(planned.library->options(), trial.front(), planned.config.name);
    }
    Status status = kernel.lifecycle().apply(std::move(plan).value(), kDrainNs);
    // Without the one that failed, the others are still tried.
    again = !status.ok() && failed.insert(std::string(status.origin())).second;
    settle(kernel);
  }
  kernel.lifecycle().shut_down(kDrainNs);
  settle(kernel);
  ::_exit(kExitTried);
}

}  // namespace atl::kernel
