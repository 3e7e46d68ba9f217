#include "kernel/server/plugin_trial.h"

#include <string>
#include <utility>
#include <vector>

#include "kernel/server/kernel.h"

namespace atl::kernel {
namespace {

constexpr int64_t kTimeoutNs = 60 * kNsPerSecond;
constexpr int64_t kPollNs = 10 * kNsPerMs;

}  // namespace

PluginTrial::PluginTrial(Kernel& kernel, std::function<bool()> end_requested,
                         std::function<void(Status)> done)
    : kernel_(kernel), end_requested_(std::move(end_requested)), done_(std::move(done)) {}

bool PluginTrial::begin(const ServerArguments& arguments) {
  runtime::Problems ignored;
  Result<Manifest> manifest = read_manifest(arguments.manifest_path, arguments.overrides, ignored);
  if (arguments.command_line.empty() || !manifest.ok() ||
      !has_new_files(manifest.value(), arguments.default_plugin_path, kernel_.loader())) {
    return false;
  }
  std::vector<std::string> command = arguments.command_line;
  command.push_back("--check");
  Result<runtime::ChildRun> child = runtime::ChildRun::start(command);
  if (!child.ok()) {
    kernel_.log().warning("new plugin files are loaded untried: ", child.status().text());
    return false;
  }
  child_.emplace(std::move(child).value());
  ends_ns_ = kernel_.clock().now_ns() + kTimeoutNs;
  poll();
  return true;
}

void PluginTrial::poll() {
  if (end_requested_()) return child_.reset();
  std::optional<runtime::ChildRun::End> end = child_->poll();
  if (!end && kernel_.clock().now_ns() < ends_ns_) {
    kernel_.loop().post_at(kernel_.clock().now_ns() + kPollNs, make_task([this] { poll(); }));
    return;
  }
  child_.reset();
  if (!end) {
    return done_(
        unavailable("loading the new plugin files takes more than ", kTimeoutNs / kNsPerSecond, " s"));
  }
  done_(end->crashed
            ? Status(Code::kFailedPrecondition, cat("a trial of the new plugin files ended: ", end->text))
            : Status());
}

}  // namespace atl::kernel
