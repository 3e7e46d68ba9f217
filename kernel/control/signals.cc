#include "kernel/control/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "atoll/runtime/fault_report.h"
#include "atoll/runtime/system_clock.h"

namespace atl::kernel {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};

// Signal handlers reach globals only.
std::atomic<int> wake_descriptor_now{-1};
std::atomic<bool> end_now{false};
std::atomic<int64_t> end_asked_ns{0};
std::atomic<bool> reload_now{false};
struct sigaction previous[4];

void handle(int number) {
  int saved = errno;
  if (number == SIGHUP) {
    reload_now.store(true);
  } else if (end_now.exchange(true)) {
    runtime::end_by_second_signal(number);
  } else {
    end_asked_ns.store(runtime::SystemClock().now_ns());
  }
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(wake_descriptor_now.load(), &one, sizeof one);
  errno = saved;
}

}  // namespace

SignalWatch::SignalWatch(int wake_descriptor) {
  wake_descriptor_now.store(wake_descriptor);
  end_now.store(false);
  end_asked_ns.store(0);
  reload_now.store(false);
  for (int i = 0; i < 4; ++i) {
    struct sigaction action {};
    action.sa_handler = kSignals[i] == SIGPIPE ? SIG_IGN : &handle;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(kSignals[i], &action, &previous[i]);
  }
}

SignalWatch::~SignalWatch() {
  for (int i = 0; i < 4; ++i) ::sigaction(kSignals[i], &previous[i], nullptr);
  wake_descriptor_now.store(-1);
}

bool SignalWatch::end_requested() const noexcept { return end_now.load(); }
int64_t SignalWatch::end_requested_ns() const noexcept { return end_asked_ns.load(); }
bool SignalWatch::reload_requested() const noexcept { return reload_now.load(); }
bool SignalWatch::take_reload_request() noexcept { return reload_now.exchange(false); }

}  // namespace atl::kernel
