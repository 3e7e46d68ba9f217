#include "kernel/server/server.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "atoll/core/reload_events.h"
#include "atoll/runtime/descriptor_limit.h"
#include "atoll/runtime/problems.h"
#include "kernel/control/signals.h"
#include "kernel/server/kernel.h"
#include "kernel/server/plugin_trial.h"

namespace atl::kernel {
namespace {

constexpr int kExitClean = 0;
constexpr int kExitFailed = 1;
constexpr int kExitManifest = 2;

/// Why the server does not start. Whoever starts it looks at its standard error, wherever the log goes; who interrupts it
/// knows why.
/// \returns code
int report(const ServerArguments& arguments, const LogSink& sink, Log& log, const Status& failure, int code) {
  runtime::log_lines(log, failure.text());
  if (arguments.program != nullptr) {
    arguments.program->failed(failure);
  } else if (!sink.settings().file.empty() && failure.code() != Code::kCancelled) {
    ::dprintf(STDERR_FILENO, "%s\n", runtime::prefix_lines("atoll: ", failure.text()).c_str());
  }
  return code;
}

/// One run of the server. [control]
class Server {
 public:
  Server(const ServerArguments& arguments, LogSink& sink, Manifest manifest, runtime::Problems problems)
      : arguments_(arguments),
        sink_(sink),
        manifest_(std::move(manifest)),
        problems_(std::move(problems)),
        kernel_(sink, arguments.version, manifest_.server.worker_threads),
        trial_(
            kernel_, [this] { return end_requested(); },
            [this](Status tried) {
              // The manifest may be another one by now: then that one is tried.
              if (tried.ok() && signals_->reload_requested()) return;
              finish_reload(tried.ok() ? reload() : std::move(tried));
            }) {
    if (program() == nullptr) {
      signals_.emplace(kernel_.loop().wake_descriptor());
      // Whatever step hangs: the process ends in time, and tells which one it was.
      kernel_.watch().ends([this] { return ends_by_ns(); },
                           [this](std::string_view what) { end_process(cat("ended by force: ", what)); });
      kernel_.control().serve([this](const std::string* text) { return compare(text); },
                              [] { (void)::kill(::getpid(), SIGHUP); });
    }
    kernel_.loop().on_throw(
        [this] { kernel_.log().error("a task on the control thread let an exception out"); });
  }

  int run() {
    int64_t begun_ns = kernel_.clock().now_ns();
    publish(ServerStateChanged::State::kStarting);
    Result<GenerationPlan> plan =
        plan_generation(manifest_, arguments_.default_plugin_path, kernel_.loader(), std::move(problems_));
    if (!plan.ok()) return report(arguments_, sink_, kernel_.log(), plan.status(), kExitManifest);
    Status status = kernel_.lifecycle().apply(std::move(plan).value(), drain_timeout_ns(),
                                              [this] { return end_requested(); });
    if (!status.ok()) {
      (void)report(arguments_, sink_, kernel_.log(), status, kExitFailed);
      int code = wait_for_end();
      return code == kExitOverrun || status.code() == Code::kCancelled ? code : kExitFailed;
    }
    publish(ServerStateChanged::State::kActive);
    kernel_.log().info("active: ", kernel_.lifecycle().instances().size(), " plugin instances in ",
                       (kernel_.clock().now_ns() - begun_ns) / kNsPerMs, " ms",
                       kernel_.lifecycle().instances().empty() ? ": nothing is served" : "");
    if (program() != nullptr) {
      kernel_.events().deliver();  // every plugin knows the services of the others before the program calls
      program()->active(kernel_);
    }
    if (signals_) kernel_.loop().on_turn([this] { poll_reload(); });
    kernel_.loop().run_until([this] { return end_requested(); });
    return shut_down();
  }

 private:
  Program* program() const { return arguments_.program; }
  bool end_requested() const { return program() ? program()->end_requested() : signals_->end_requested(); }
  int64_t drain_timeout_ns() const {
    int64_t configured_ns = drain_timeout_ns_.load();
    return program() ? program()->drain_timeout_ns(configured_ns) : configured_ns;
  }

  /// Of an end that was asked for; 0: none was. [any]
  int64_t ends_by_ns() const {
    const int64_t asked_ns = signals_ ? signals_->end_requested_ns() : 0;
    return asked_ns == 0 ? 0 : runtime::deadline_after(asked_ns, drain_timeout_ns());
  }
  /// drain_timeout counts from the signal, whatever was in its way since.
  int64_t drain_deadline_ns() {
    const int64_t by_ns = ends_by_ns();
    return by_ns != 0 ? by_ns : runtime::deadline_after(kernel_.clock().now_ns(), drain_timeout_ns());
  }
  [[noreturn]] void end_process(std::string_view why) {
    kernel_.log().error(why);
    (void)sink_.flush();
    _exit(kExitFailed);
  }

  void publish(ServerStateChanged::State state) {
    ServerStateChanged event;
    event.state = state;
    event.generation = kernel_.lifecycle().generation();
    publish_event(kernel_.events(), event);
  }

  void publish_reload(ReloadChanged::State state, std::string_view reason = {}) {
    const ReloadChanged event{state, kernel_.lifecycle().generation(), reason};
    kernel_.events().publish(ReloadChanged::kEventId, event.key(), &event, sizeof event, false);
  }

  // One reload for all requests that came meanwhile; it reads the manifest as it is then.
  void poll_reload() {
    if (reloading_ || trial_.runs() || end_requested() || !signals_->reload_requested()) return;
    if (std::string whom = kernel_.lifecycle().reload_waits_for(); !whom.empty()) {
      if (!std::exchange(wait_logged_, true)) kernel_.log().info("reload asked for; it waits for ", whom);
      return;
    }
    wait_logged_ = false;
    (void)signals_->take_reload_request();
    publish_reload(ReloadChanged::State::kBegun);
    kernel_.events().deliver();
    if (!trial_.begin(arguments_)) finish_reload(reload());
  }

  void finish_reload(const Status& status) {
    kernel_.reloads().add(status.ok());
    if (status.ok()) return publish_reload(ReloadChanged::State::kApplied);
    const std::string reason = runtime::on_one_line(status.text());
    publish_reload(ReloadChanged::State::kRefused, reason);
    kernel_.log().error("reload refused: ", reason, "; generation ", kernel_.lifecycle().generation(),
                        " goes on");
  }

  Status reload() {
    reloading_ = true;
    Status status = replace_generation();
    reloading_ = false;
    return status;
  }

  Status replace_generation() {
    int64_t begun_ns = kernel_.clock().now_ns();
    runtime::Problems problems;
    Result<Manifest> manifest = read_manifest(arguments_.manifest_path, arguments_.overrides, problems);
    if (!manifest.ok()) return std::move(manifest).status();
    Result<GenerationPlan> plan = plan_generation(manifest.value(), arguments_.default_plugin_path,
                                                  kernel_.loader(), std::move(problems));
    if (!plan.ok()) return std::move(plan).status();
    const LogSettings log_settings = sink_.settings();
    ATOLL_RETURN_IF_ERROR(sink_.configure(manifest->log));
    Status status = kernel_.lifecycle().apply(std::move(plan).value(), manifest->server.drain_timeout_ns,
                                              [this] { return end_requested(); });
    if (!status.ok()) {
      (void)sink_.configure(manifest_.log).ok();  // as it was; if that file is gone, the new one stays
      (void)sink_.update(log_settings).ok();
      return status;
    }
    const bool has_own_changes = manifest->server != manifest_.server || manifest->log != manifest_.log;
    manifest_ = std::move(manifest).value();
    drain_timeout_ns_.store(manifest_.server.drain_timeout_ns);
    kernel_.workers().resize(manifest_.server.worker_threads);
    publish(ServerStateChanged::State::kActive);
    kernel_.log().info("reloaded: generation ", kernel_.lifecycle().generation(), ", ",
                       kernel_.lifecycle().instances().size(), " plugin instances in ",
                       (kernel_.clock().now_ns() - begun_ns) / kNsPerMs,
                       has_own_changes ? " ms: [atoll] or [log] changed; plugins: " : " ms: ",
                       kernel_.lifecycle().changes());
    return {};
  }

  /// What a manifest would change. Code of files that are not open does not run for this.
  Result<ManifestDifference> compare(const std::string* text) {
    if (end_requested()) return unavailable("the server ends");
    runtime::Problems problems;
    Result<Manifest> manifest = text == nullptr
                                    ? read_manifest(arguments_.manifest_path, arguments_.overrides, problems)
                                    : parse_manifest(*text, "the text", arguments_.overrides, problems);
    if (!manifest.ok()) return std::move(manifest).status();
    ManifestDifference found{kernel_.lifecycle().generation(), {}, false, {}};
    found.has_own_changes = manifest->server != manifest_.server || manifest->log != manifest_.log;
    found.unopened = new_instances(*manifest, arguments_.default_plugin_path, kernel_.loader());
    std::vector<runtime::DescribedInstance> unopened;
    for (InstanceConfig& config : manifest->instances) {
      if (std::ranges::binary_search(found.unopened, config.name))
        unopened.push_back({{config.name, std::exchange(config.use, {}), {}}, {}});
    }
    Result<GenerationPlan> plan =
        plan_generation(*manifest, arguments_.default_plugin_path, kernel_.loader(), std::move(problems));
    if (!plan.ok()) return std::move(plan).status();
    found.instances = kernel_.lifecycle().differences(std::move(plan).value(), std::move(unopened));
    return found;
  }

  int shut_down() {
    kernel_.loop().on_turn({});
    kernel_.log().info("draining for at most ", drain_timeout_ns() / kNsPerMs, " ms");
    publish(ServerStateChanged::State::kDraining);
    kernel_.events().deliver();
    kernel_.lifecycle().shut_down(std::max<int64_t>(0, drain_deadline_ns() - kernel_.clock().now_ns()));
    return wait_for_end();
  }

  // Runs the loop until all that retires is gone. What overran can be neither stopped nor unmapped under its
  // holders, so the process ends here, or a program keeps all of it.
  int wait_for_end() {
    Lifecycle& lifecycle = kernel_.lifecycle();
    int64_t deadline_ns = drain_deadline_ns();
    kernel_.loop().post_at(deadline_ns, make_task([] {}));
    kernel_.loop().run_until([&] { return lifecycle.idle() || kernel_.clock().now_ns() >= deadline_ns; });
    lifecycle.step();
    if (lifecycle.idle()) {
      kernel_.log().info("ended");
      return kExitClean;
    }
    if (program() == nullptr) end_process("ended with plugins still draining");
    kernel_.log().error("ended with plugins still draining");
    return kExitOverrun;
  }

  const ServerArguments& arguments_;
  LogSink& sink_;
  Manifest manifest_;
  runtime::Problems problems_;  // of the first manifest, until it is planned
  std::atomic<int64_t> drain_timeout_ns_{manifest_.server.drain_timeout_ns};
  Kernel kernel_;
  std::optional<SignalWatch> signals_;
  PluginTrial trial_;
  bool reloading_ = false;
  bool wait_logged_ = false;
};

/// Errors: RESOURCE_EXHAUSTED there are too few to take a connection.
Status raise_descriptors(Log& log) {
  constexpr uint64_t kFewest = 128;
  Result<runtime::DescriptorLimit> limit = runtime::raise_descriptor_limit();
  if (!limit.ok()) {
    log.warning(limit.status().text());
    return {};
  }
  log.debug("open files: limit ", limit->soft, ", was ", limit->soft_before);
  if (limit->soft >= kFewest) return {};
  return make_status(Code::kResourceExhausted, "the process may have ", limit->soft, " files open, at least ",
                     kFewest, " are needed: raise the hard limit (ulimit -Hn)");
}

}  // namespace

Result<size_t> check_server(const ServerArguments& arguments, LogSink& sink) {
  runtime::Problems problems;
  Result<Manifest> manifest = read_manifest(arguments.manifest_path, arguments.overrides, problems);
  if (!manifest.ok()) return std::move(manifest).status();
  std::unique_ptr<InstanceLog> log = sink.for_instance("kernel");
  PluginLoader loader(*log);
  Result<GenerationPlan> plan =
      plan_generation(manifest.value(), arguments.default_plugin_path, loader, std::move(problems));
  if (!plan.ok()) return std::move(plan).status();
  return plan->size();
}

int run_server(const ServerArguments& arguments, LogSink& sink) {
  runtime::Problems problems;
  Result<Manifest> manifest = read_manifest(arguments.manifest_path, arguments.overrides, problems);
  std::unique_ptr<InstanceLog> log = sink.for_instance("kernel");
  Status status = manifest.ok() ? sink.configure(manifest->log) : manifest.status().clone();
  // What keeps the log from being opened may be among the problems, and is told with them.
  if (!status.ok() && (!manifest.ok() || problems.empty()))
    return report(arguments, sink, *log, status, kExitManifest);
  Status enough = arguments.program == nullptr ? raise_descriptors(*log) : Status();
  if (!enough.ok()) return report(arguments, sink, *log, enough, kExitFailed);
  std::unique_ptr<Server> server;
  try {
    server = std::make_unique<Server>(arguments, sink, std::move(manifest).value(), std::move(problems));
  } catch (const std::exception& error) {  // no thread, descriptor or memory
    return report(arguments, sink, *log, unavailable("the server cannot start: ", error.what()), kExitFailed);
  }
  int code = server->run();
  if (code == kExitOverrun) (void)server.release();
  return code;
}

}  // namespace atl::kernel
