/// The kernel put together: the parts in the order in which they depend on each other.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "atoll/runtime/call_watch.h"
#include "atoll/runtime/control_loop.h"
#include "atoll/runtime/event_queue.h"
#include "atoll/runtime/listener_list.h"
#include "atoll/runtime/manifest_control.h"
#include "atoll/runtime/reload_counts.h"
#include "atoll/runtime/system_clock.h"
#include "atoll/runtime/worker_threads.h"
#include "kernel/lifecycle/lifecycle.h"
#include "kernel/loader/plugin_loader.h"
#include "kernel/log/log_sink.h"
#include "kernel/registry/service_registry.h"

namespace atl::kernel {

/// Made and used on one thread, the control thread. Before it is destroyed, lifecycle().idle() without
/// instances, or the process ends.
class Kernel {
 public:
  Kernel(LogSink& sink, std::string version, uint32_t worker_threads);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  runtime::ControlLoop& loop() { return loop_; }
  runtime::EventQueue& events() { return events_; }
  ServiceRegistry& services() { return services_; }
  PluginLoader& loader() { return loader_; }
  runtime::WorkerThreads& workers() { return workers_; }
  Lifecycle& lifecycle() { return lifecycle_; }
  Clock& clock() { return clock_; }
  runtime::CallWatch& watch() { return watch_; }
  Log& log() { return *log_; }
  runtime::ReloadCounts& reloads() { return reloads_; }
  runtime::ManifestControl& control() { return control_; }

 private:
  void poke() noexcept;  // [any]
  void wake_events() noexcept;

  runtime::SystemClock clock_;
  LogSink& sink_;
  std::unique_ptr<InstanceLog> log_;
  runtime::CallWatch watch_;
  std::atomic<bool> poked_{false};
  runtime::ReloadCounts reloads_;
  runtime::ControlLoop loop_;
  runtime::EventQueue events_;
  ServiceRegistry services_;
  runtime::ListenerList listeners_;
  runtime::ManifestControl control_;
  PluginLoader loader_;
  runtime::WorkerThreads workers_;
  KernelContext context_;
  Lifecycle lifecycle_;
};

}  // namespace atl::kernel
