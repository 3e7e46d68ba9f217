/// Host: everything that the kernel hands to one plugin instance. There are no global objects; a
/// plugin's constructor takes its Host, and passes on what its parts need.
///
///     explicit Hello(atl::Host& host) : host_(host) {}
///     Status start() override {
///       host_.log().info(host_.options().get_string("greeting"), " from ", host_.instance_name());
///       Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
///       ...
///
/// A test makes a FakeHost (atoll/testing/fake_host.h).
#pragma once

#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/event_bus.h"
#include "atoll/core/executor.h"
#include "atoll/core/gate.h"
#include "atoll/core/log.h"
#include "atoll/core/options.h"
#include "atoll/core/registry.h"

namespace atl {

/// The object is the kernel's. It is valid from create (the plugin's constructor) until destroy
/// (the plugin's destructor has returned), and so is every reference that its functions return. All
/// functions may be called from any thread. [any]
class Host {
 public:
  /// The instance's name in the manifest: "grpc" for [plugin.grpc]. No other instance of the
  /// running generation has the same name; while a reload replaces an instance, both have it.
  virtual std::string_view instance_name() const noexcept = 0;
  /// The server's version, as the field `version` of the KServe server metadata shows it.
  virtual std::string_view server_version() const noexcept = 0;
  /// The values of the instance's options, complete and checked against the plugin's option table.
  /// They stay as they are; a plugin that follows changes is an OptionsFollower
  /// (options_follower.h).
  virtual const Options& options() const noexcept = 0;
  /// The server's log; each record carries the instance's name.
  virtual Log& log() noexcept = 0;
  /// Where services of other plugins are found. A plugin looks for them in start(): in create,
  /// other new instances have not published theirs yet.
  virtual Registry& registry() noexcept = 0;
  /// News of the server, its plugins and models, and a place to publish the plugin's own.
  virtual EventBus& events() noexcept = 0;
  /// The clock of deadlines, durations and timers.
  virtual Clock& clock() noexcept = 0;
  /// Threads of the instance's own, for work on its request path.
  virtual ExecutorFactory& executors() noexcept = 0;
  /// Threads that all instances share, for control work that blocks or takes long.
  virtual WorkerPool& workers() noexcept = 0;
  /// The instance's own gate. Work that must end before the instance may be stopped, such as a
  /// request that is executed, holds a Pass of it. The kernel closes the gate when the instance
  /// drains, right before it calls drain(); entering fails from then on.
  virtual Gate& gate() noexcept = 0;
  /// Runs a task on the control thread, after the tasks that were posted before. The server does
  /// not stop the instance while one of its tasks is queued; tasks of an instance that ends without
  /// having been started are dropped.
  virtual void post_control(Task task) noexcept = 0;
  /// True while the instance of the same name and plugin that this one replaces still runs. This
  /// one then finds in use what its predecessor has: a state folder, a file, a database. The answer
  /// turns false when the predecessor has been stopped.
  virtual bool replaces_running_instance() const noexcept = 0;
  /// True from when a reload begins to build a generation in which this instance is not, whether it
  /// is removed or replaced; false again if that reload fails. What the instance alone may have,
  /// such as an address (frontend/listeners.h), then goes to whoever asks first.
  virtual bool retires() const noexcept = 0;

 protected:
  ~Host() = default;
};

}  // namespace atl
