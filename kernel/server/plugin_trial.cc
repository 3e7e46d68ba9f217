#include "kernel/server/plugin_trial.h"

#include <unistd.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include "kernel/server/kernel.h"

namespace atl::kernel {
namespace {

constexpr int64_t kPollNs = 10 * kNsPerMs;
constexpr int64_t kDrainNs = kNsPerSecond;
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
  Result<Manifest> manifest = read_manifest(arguments.manifest_path, arguments.overrides);
  if (arguments.command_line.empty() || !manifest.ok()) return false;
  const auto names = new_instances(manifest.value(), arguments.default_plugin_path, kernel_.loader());
  if (names.empty()) return false;
  Result<runtime::ChildRun> child = runtime::ChildRun::start(arguments.command_line, "--trial", names);
  if (!child.ok()) {
    kernel_.log().warning("new plugin files are run untried: ", child.status().text());
    return false;
  }
  child_.emplace(std::move(child).value());
  timeout_ns_ = manifest->server.trial_timeout_ns;
  ends_ns_ = kernel_.clock().now_ns() + timeout_ns_;
  poll();
  return true;
}

void PluginTrial::poll() {
  std::optional<runtime::ChildRun::End> end = child_->poll();
  if (!end && !end_requested_() && kernel_.clock().now_ns() < ends_ns_) {
    kernel_.loop().post_at(kernel_.clock().now_ns() + kPollNs, make_task([this] { poll(); }));
    return;
  }
  constexpr std::string_view kWhat = "a trial of the new plugin files ";
  Status status;
  if (!end) {
    status = unavailable(kWhat, "takes more than ", timeout_ns_ / kNsPerMs, " ms", child_->last_note());
  } else if (end->exit_code != kExitTried) {
    status = Status(Code::kFailedPrecondition, cat(kWhat, "ended: ", child_->end_text(*end)));
  }
  child_.reset();
  if (!end_requested_()) done_(std::move(status));
}

void try_plugins(const ServerArguments& arguments, LogSink& sink, std::span<const std::string> trial) {
  runtime::ChildRun::begin("atoll-trial");
  Result<Manifest> manifest = read_manifest(arguments.manifest_path, arguments.overrides);
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
