#include "kernel/server/kernel.h"

#include "atoll/runtime/fault_report.h"

namespace atl::kernel {

Kernel::Kernel(LogSink& sink, std::string version, uint32_t worker_threads)
    : sink_(sink),
      log_(sink.for_instance("kernel")),
      watch_(clock_, [this](std::string_view line) { log_->warning(line); }),
      loop_(clock_),
      events_([this] { wake_events(); }, *log_, &watch_),
      services_([this] { poke(); }),
      control_(loop_),
      loader_(*log_, &watch_),
      workers_(worker_threads),
      context_{clock_,    sink_,   *log_,  loop_,    workers_,           events_,
               services_, loader_, watch_, control_, std::move(version), [this] { poke(); },
               {}},
      lifecycle_(context_) {
  watch_.start();
  OwnerId self = services_.add_owner("kernel", {}, {});
  auto publish = [&]<class Interface>(Interface* service, const char* name = "kernel", uint32_t minor = 0) {
    services_.publish({self, {std::string(Interface::kInterfaceId), name, "kernel", minor, 0}, service});
  };
  publish.operator()<LogControl>(&sink, "kernel", 1);
  publish.operator()<MetricSource>(&sink);
  publish.operator()<MetricSource>(&reloads_, "kernel.reloads");
  publish.operator()<FaultNotes>(&runtime::fault_notes());
  publish.operator()<Listeners>(&listeners_);
  publish.operator()<KernelControl>(&control_);
}

void Kernel::poke() noexcept {
  if (poked_.exchange(true)) return;
  loop_.post(make_task([this] {
    poked_.store(false);
    lifecycle_.step();
  }));
}

void Kernel::wake_events() noexcept {
  loop_.post(make_task([this] { events_.deliver(); }));
}

}  // namespace atl::kernel
