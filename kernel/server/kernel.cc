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
      loader_(*log_, &watch_),
      workers_(worker_threads),
      context_{clock_,
               sink_,
               *log_,
               loop_,
               workers_,
               events_,
               services_,
               loader_,
               watch_,
               std::move(version),
               [this] { poke(); }},
      lifecycle_(context_) {
  watch_.start();
  OwnerId self = services_.add_owner("kernel", {}, {});
  services_.publish({self,
                     {std::string(LogControl::kInterfaceId), "kernel", "kernel", 0, 0},
                     static_cast<LogControl*>(&sink)});
  services_.publish({self,
                     {std::string(MetricSource::kInterfaceId), "kernel", "kernel", 0, 0},
                     static_cast<MetricSource*>(&sink)});
  services_.publish(
      {self, {std::string(FaultNotes::kInterfaceId), "kernel", "kernel", 0, 0}, &runtime::fault_notes()});
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
