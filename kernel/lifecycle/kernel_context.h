/// What the parts of the kernel share; made once, by Kernel.
#pragma once

#include <functional>
#include <string>

#include "atoll/core/clock.h"
#include "atoll/runtime/call_watch.h"
#include "atoll/runtime/control_loop.h"
#include "atoll/runtime/event_queue.h"
#include "atoll/runtime/manifest_control.h"
#include "atoll/runtime/worker_threads.h"
#include "kernel/loader/plugin_loader.h"
#include "kernel/log/log_sink.h"
#include "kernel/registry/service_registry.h"

namespace atl::kernel {

struct KernelContext {
  Clock& clock;
  LogSink& log_sink;
  Log& log;  ///< the kernel's own
  runtime::ControlLoop& loop;
  runtime::WorkerThreads& workers;
  runtime::EventQueue& events;
  ServiceRegistry& services;
  PluginLoader& loader;
  runtime::CallWatch& watch;
  runtime::ManifestControl& control;
  std::string version;
  std::function<void()>
      poke;  ///< [any] an instance may have become quiescent: look again, on the control thread
  /// What an instance that serves says that it holds; empty: nothing, or it does not serve.
  std::function<std::string(OwnerId)> holding_of;
};

}  // namespace atl::kernel
