/// Host: everything the kernel hands to one plugin instance. Nothing is global.
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

/// Valid from create to destroy. Every reference it returns is valid as long. [any]
class Host {
 public:
  /// The instance's name in the manifest: "grpc".
  virtual std::string_view instance_name() const noexcept = 0;
  /// The server's version, for metadata.
  virtual std::string_view server_version() const noexcept = 0;
  virtual const Options& options() const noexcept = 0;
  virtual Log& log() noexcept = 0;
  virtual Registry& registry() noexcept = 0;
  virtual EventBus& events() noexcept = 0;
  virtual Clock& clock() noexcept = 0;
  virtual ExecutorFactory& executors() noexcept = 0;
  virtual WorkerPool& workers() noexcept = 0;
  /// The instance's own gate. Work that must end before the instance may be stopped holds a pass; it is
  /// closed when the instance drains, so entering then fails.
  virtual Gate& gate() noexcept = 0;
  /// Runs a task on the control thread. Tasks of an instance that is destroyed first are dropped.
  virtual void post_control(Task task) noexcept = 0;
  /// True while an instance of the same name and plugin of the previous generation still runs, that is, while
  /// this one is being brought up to replace it. It then finds what its predecessor still uses: a state
  /// folder, a file.
  virtual bool replaces_running_instance() const noexcept = 0;
  /// True from when a reload begins to build a generation without this instance; false again if that reload
  /// fails. What it alone may have, such as an address (listeners.h), then goes to whoever asks first.
  virtual bool retires() const noexcept = 0;

 protected:
  ~Host() = default;
};

}  // namespace atl
