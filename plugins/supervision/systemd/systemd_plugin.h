/// The plugin instance: turns what happens to the server into messages to the service manager.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "atoll/core/events.h"
#include "atoll/core/followed_service.h"
#include "atoll/core/plugin.h"
#include "atoll/core/reload_events.h"
#include "atoll/core/startup.h"
#include "supervision/systemd/notify_queue.h"

namespace atl::supervision {

/// Every message is sent by the control thread. A timer on a thread of the plugin only asks it to, and
/// asks again when it has done so: a control thread that is stuck sends nothing, and of what it has to do
/// later no more than one thing waits. [control]
class SystemdPlugin final : public Plugin {
 public:
  explicit SystemdPlugin(Host& host);

  Status init() override;
  Status start() override;
  void stop() override;

 private:
  struct OnServer {
    SystemdPlugin& plugin;
    void operator()(const ServerStateChanged& event) const { plugin.server_changed(event); }
  };
  struct OnReload {
    SystemdPlugin& plugin;
    void operator()(const ReloadChanged& event) const { plugin.reload_changed(event); }
  };

  enum class State : uint32_t { kStarting, kReady, kReloading, kEnding };
  struct Watchdog {
    int64_t period_ns = 0;             // 0: there is none
    int64_t next_ns = 0;               // when it hears again
    bool may_be_switched_off = false;  // by the instance before this one, when that ends
  };

  void read_watchdog();
  void server_changed(const ServerStateChanged& event);
  void reload_changed(const ReloadChanged& event);
  /// What is due now; then the next turn.
  void turn();
  void schedule(int64_t after_ns);
  bool serves() const noexcept { return state_ == State::kReady || state_ == State::kReloading; }
  bool models_are_loaded() const;
  void say_ready();
  void beat();
  void send(std::string message);

  Host& host_;
  const bool waits_for_models_;
  std::optional<NotifyQueue> queue_;  // none: nobody is to be notified
  Watchdog watchdog_;
  Followed<Startup> startup_;
  SerialExecutorPtr executor_;
  TimerId timer_ = 0;
  bool turn_is_due_ = false;  // the timer runs, or its task waits
  State state_ = State::kStarting;
  std::optional<uint64_t> generation_;  // that is active
  int64_t extends_ns_ = 0;              // when the time for the start is extended again
  Subscription<ServerStateChanged, OnServer> server_{OnServer{*this}};
  Subscription<ReloadChanged, OnReload> reloads_{OnReload{*this}};
};

}  // namespace atl::supervision
