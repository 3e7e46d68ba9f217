#include "supervision/systemd/systemd_plugin.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "atoll/core/stop_executor.h"
#include "atoll/core/text.h"

namespace atl::supervision {
namespace {

/// How soon what has to be looked at again is looked at: the models' loads, and a full queue.
constexpr int64_t kSoonNs = 100 * kNsPerMs;
/// The start may take so much longer from each time on that this is said; it is said three times as often.
constexpr int64_t kExtensionNs = 30 * kNsPerSecond;
constexpr int64_t kShortestBeatNs = 1 * kNsPerMs;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A value ends with its line, so it has one.
std::string status_line(std::string_view text) {
  std::string line = cat("STATUS=", text);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return line;
}

}  // namespace

SystemdPlugin::SystemdPlugin(Host& host)
    : host_(host),
      waits_for_models_(host.options().get_string("ready_when") == "models_loaded"),
      startup_(host) {}

Status SystemdPlugin::init() {
  const std::string_view address = environment("NOTIFY_SOCKET");
  if (address.empty()) {
    host_.log().debug("no service manager: NOTIFY_SOCKET is not set");
    return {};
  }
  Result<NotifySocket> socket = NotifySocket::open(address);
  if (!socket.ok()) {
    host_.log().warning("the service manager is not notified: NOTIFY_SOCKET: ", socket.status().message());
    return {};
  }
  queue_.emplace(std::move(socket).value(), host_.log());
  read_watchdog();
  return {};
}

void SystemdPlugin::read_watchdog() {
  const std::string_view period = environment("WATCHDOG_USEC");
  const std::string_view pid = environment("WATCHDOG_PID");
  if (period.empty() || (!pid.empty() && number(pid) != static_cast<uint64_t>(::getpid()))) return;
  constexpr uint64_t kLongestUs = INT64_MAX / kNsPerUs;
  const std::optional<uint64_t> us = number(period);
  if (!us || *us == 0 || *us > kLongestUs) {
    host_.log().warning("there is no watchdog: WATCHDOG_USEC: found '", period,
                        "', expected a number of microseconds");
    return;
  }
  watchdog_.period_ns = static_cast<int64_t>(*us) * kNsPerUs;
}

Status SystemdPlugin::start() {
  if (!queue_) return {};
  Result<SerialExecutorPtr> made = host_.executors().create("systemd", {});
  if (!made.ok()) return std::move(made).status();
  executor_ = std::move(made).value();
  watchdog_.may_be_switched_off = host_.replaces_running_instance();
  const SubscriptionOptions every{.overflow = Overflow::kDropOldest};
  Status status = startup_.open();
  if (status.ok()) status = server_.open(host_.events(), every);
  if (status.ok()) status = reloads_.open(host_.events(), every);
  if (!status.ok()) stop();
  return status;
}

void SystemdPlugin::stop() {
  reloads_.reset();
  server_.reset();
  stop_executor(executor_);
  startup_.close();
  if (!queue_ || !serves()) return;
  // A reload takes the plugin away, and the server goes on: nothing is waited for any more.
  if (std::exchange(state_, State::kEnding) == State::kReloading) queue_->send("READY=1");
  if (watchdog_.period_ns != 0) queue_->send("WATCHDOG_USEC=0");
}

void SystemdPlugin::server_changed(const ServerStateChanged& event) {
  switch (event.state) {
    case ServerStateChanged::State::kStarting:
      send(status_line("starting"));
      break;
    case ServerStateChanged::State::kActive:
      generation_ = event.generation;
      if (state_ == State::kStarting && !models_are_loaded()) send(status_line("loading models"));
      schedule(0);
      break;
    case ServerStateChanged::State::kDraining:
      state_ = State::kEnding;
      send(cat("STOPPING=1\n", status_line("finishing accepted requests")));
      break;
  }
}

void SystemdPlugin::reload_changed(const ReloadChanged& event) {
  // Before it is ready there is nothing that a reload would interrupt.
  if (!serves()) return;
  switch (event.state) {
    case ReloadChanged::State::kBegun:
      state_ = State::kReloading;
      send(cat("RELOADING=1\nMONOTONIC_USEC=", host_.clock().now_ns() / kNsPerUs, "\n",
               status_line("reloading the manifest")));
      break;
    case ReloadChanged::State::kApplied:
      generation_ = event.generation;
      say_ready();
      break;
    case ReloadChanged::State::kRefused:
      state_ = State::kReady;
      send(cat("READY=1\n", status_line(cat("serving, generation ", event.generation,
                                            "; a reload was refused: ", event.reason.view()))));
      break;
  }
}

bool SystemdPlugin::models_are_loaded() const {
  if (!waits_for_models_) return true;
  const auto startup = startup_.hold();
  return !startup || startup->complete();
}

void SystemdPlugin::say_ready() {
  state_ = State::kReady;
  send(cat("READY=1\n", status_line(cat("serving, generation ", *generation_))));
}

void SystemdPlugin::beat() {
  std::string message = "WATCHDOG=1";
  if (watchdog_.may_be_switched_off) {
    watchdog_.may_be_switched_off = host_.replaces_running_instance();
    message += cat("\nWATCHDOG_USEC=", watchdog_.period_ns / kNsPerUs);
  }
  send(std::move(message));
}

void SystemdPlugin::turn() {
  turn_is_due_ = false;
  const int64_t now_ns = host_.clock().now_ns();
  queue_->send_kept();
  if (state_ == State::kStarting && generation_) {
    if (models_are_loaded()) {
      say_ready();
    } else if (now_ns >= extends_ns_) {
      extends_ns_ = now_ns + kExtensionNs / 3;
      send(cat("EXTEND_TIMEOUT_USEC=", kExtensionNs / kNsPerUs));
    }
  }
  if (serves() && watchdog_.period_ns != 0) {
    if (now_ns >= watchdog_.next_ns) {
      watchdog_.next_ns = now_ns + std::max(kShortestBeatNs, watchdog_.period_ns / 2);
      beat();
    }
    schedule(queue_->is_empty() ? watchdog_.next_ns - now_ns : std::min(kSoonNs, watchdog_.next_ns - now_ns));
  } else if (!queue_->is_empty() || (state_ == State::kStarting && generation_)) {
    schedule(kSoonNs);
  }
}

void SystemdPlugin::schedule(int64_t after_ns) {
  if (executor_ == nullptr) return;
  if (turn_is_due_ && !executor_->cancel(timer_)) return;  // it comes now
  turn_is_due_ = true;
  const auto ask = [this] { host_.post_control(make_task([this] { turn(); })); };
  if (after_ns == 0) {
    ask();
  } else {
    timer_ = executor_->post_at(host_.clock().now_ns() + after_ns, make_task(ask));
  }
}

void SystemdPlugin::send(std::string message) {
  queue_->send(std::move(message));
  if (!queue_->is_empty()) schedule(kSoonNs);
}

}  // namespace atl::supervision
