#include "frontends/grpc/go_away.h"

#include <grpc/event_engine/event_engine.h>
#include <grpc/grpc.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace atl::frontends::grpc_frontend {
namespace {

using grpc_event_engine::experimental::CreateEventEngine;
using grpc_event_engine::experimental::EventEngine;
using grpc_event_engine::experimental::SetEventEngineFactory;
using Closure = EventEngine::Closure;
using TaskHandle = EventEngine::TaskHandle;

/// gRPC gives each connection up to a tenth more or less than the maximum age, by chance.
constexpr int64_t kLargestAgeMs = 1'900'000'000;
constexpr int64_t kSmallestAgeMs = 160'000'000;  ///< two days; no other timer of gRPC is that long
/// Servers at a time whose ages can be told from each other.
constexpr size_t kServers = 11;
constexpr intptr_t kOwnHandle = std::numeric_limits<intptr_t>::min();

constexpr int64_t age_of(size_t server) noexcept {
  int64_t age = kLargestAgeMs;
  for (size_t i = 0; i < server; ++i) age = age * 4 / 5;
  return age;
}
static_assert(age_of(kServers - 1) > kSmallestAgeMs);

/// kServers: it is the timer of no server.
constexpr size_t server_of(int64_t when_ms) noexcept {
  for (size_t i = 0; i < kServers; ++i) {
    if (when_ms > age_of(i) * 895 / 1000 && when_ms < age_of(i) * 1105 / 1000) return i;
  }
  return kServers;
}
static_assert(server_of(age_of(3) * 9 / 10) == 3 && server_of(age_of(3) * 11 / 10) == 3);

/// The ages of all connections of the process. [any] Calls into gRPC are made without its lock.
class Ages {
 public:
  static Ages& instance() {
    static auto& ages = *new Ages;  // for as long as gRPC: it is never unmapped
    return ages;
  }

  EventEngine& engine() { return *engine_; }

  size_t add_server(int64_t max_age_ms) {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < kServers; ++i) {
      if (servers_[i].used) continue;
      servers_[i] = {.used = true, .max_age_ms = max_age_ms};
      return i;
    }
    return kServers;
  }
  void remove_server(size_t server) {
    std::lock_guard lock(mutex_);
    servers_[server].used = false;
  }

  /// Whether the timer is an age; then it is kept here.
  bool start(int64_t when_ms, Closure* closure, TaskHandle* handle) {
    const size_t index = server_of(when_ms);
    if (index == kServers) return false;
    std::unique_lock lock(mutex_);
    const Server server = servers_[index];
    if (!server.used) return false;
    const intptr_t id = next_id_++;
    *handle = {{id, kOwnHandle}};
    if (server.leaving) {
      lock.unlock();
      engine_->Run(closure);
      return true;
    }
    Timer& timer = timers_[id];
    timer = {closure, index, {}, server.max_age_ms > 0};
    if (timer.ends) {
      const auto real_ms =
          static_cast<int64_t>(static_cast<double>(server.max_age_ms) * static_cast<double>(when_ms) /
                               static_cast<double>(age_of(index)));
      timer.end = engine_->RunAfter(std::chrono::milliseconds(real_ms), [this, id] { run_out(id); });
    }
    return true;
  }
  /// False: it has run, or is about to.
  bool cancel(const TaskHandle& handle) {
    std::lock_guard lock(mutex_);
    auto found = timers_.find(handle.keys[0]);
    if (found == timers_.end()) return false;
    if (found->second.ends) engine_->Cancel(found->second.end);
    timers_.erase(found);
    return true;
  }
  size_t run_all(size_t server) {
    std::vector<Closure*> due;
    {
      std::lock_guard lock(mutex_);
      servers_[server].leaving = true;
      for (auto at = timers_.begin(); at != timers_.end();) {
        if (at->second.server != server) {
          ++at;
          continue;
        }
        if (at->second.ends) engine_->Cancel(at->second.end);
        due.push_back(at->second.closure);
        at = timers_.erase(at);
      }
    }
    for (Closure* closure : due) closure->Run();
    return due.size();
  }

 private:
  struct Server {
    bool used = false;
    bool leaving = false;
    int64_t max_age_ms = 0;
  };
  struct Timer {
    Closure* closure = nullptr;
    size_t server = 0;
    TaskHandle end{};
    bool ends = false;  ///< by itself, when the configured age is reached
  };

  Ages();

  void run_out(intptr_t id) {
    Closure* closure = nullptr;
    {
      std::lock_guard lock(mutex_);
      auto found = timers_.find(id);
      if (found == timers_.end()) return;
      closure = found->second.closure;
      timers_.erase(found);
    }
    closure->Run();
  }

  std::unique_ptr<EventEngine> engine_;  ///< gRPC's own
  std::mutex mutex_;
  std::array<Server, kServers> servers_;
  std::map<intptr_t, Timer> timers_;
  intptr_t next_id_ = 1;
};

/// gRPC's own event engine, but for the ages of connections.
class AgeEngine final : public EventEngine {
 public:
  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(
      Listener::AcceptCallback on_accept, absl::AnyInvocable<void(absl::Status)> on_shutdown,
      const grpc_event_engine::experimental::EndpointConfig& config,
      std::unique_ptr<grpc_event_engine::experimental::MemoryAllocatorFactory> memory) override {
    return real().CreateListener(std::move(on_accept), std::move(on_shutdown), config, std::move(memory));
  }
  ConnectionHandle Connect(OnConnectCallback on_connect, const ResolvedAddress& address,
                           const grpc_event_engine::experimental::EndpointConfig& config,
                           grpc_event_engine::experimental::MemoryAllocator memory,
                           Duration timeout) override {
    return real().Connect(std::move(on_connect), address, config, std::move(memory), timeout);
  }
  bool CancelConnect(ConnectionHandle handle) override { return real().CancelConnect(handle); }
  bool IsWorkerThread() override { return real().IsWorkerThread(); }
  std::unique_ptr<DNSResolver> GetDNSResolver(const DNSResolver::ResolverOptions& options) override {
    return real().GetDNSResolver(options);
  }
  void Run(Closure* closure) override { real().Run(closure); }
  void Run(absl::AnyInvocable<void()> closure) override { real().Run(std::move(closure)); }
  TaskHandle RunAfter(Duration when, Closure* closure) override {
    TaskHandle handle;
    const int64_t when_ms = std::chrono::duration_cast<std::chrono::milliseconds>(when).count();
    return Ages::instance().start(when_ms, closure, &handle) ? handle : real().RunAfter(when, closure);
  }
  TaskHandle RunAfter(Duration when, absl::AnyInvocable<void()> closure) override {
    return real().RunAfter(when, std::move(closure));
  }
  bool Cancel(TaskHandle handle) override {
    return handle.keys[1] == kOwnHandle ? Ages::instance().cancel(handle) : real().Cancel(handle);
  }

 private:
  static EventEngine& real() { return Ages::instance().engine(); }
};

Ages::Ages() {
  grpc_init();
  engine_ = CreateEventEngine();
  SetEventEngineFactory([] { return std::make_unique<AgeEngine>(); });
}

}  // namespace

GoAway::GoAway(int max_age_ms) : max_age_ms_(max_age_ms), server_(Ages::instance().add_server(max_age_ms)) {}

GoAway::~GoAway() {
  if (server_ < kServers) Ages::instance().remove_server(server_);
}

int GoAway::age_argument_ms() const noexcept {
  return server_ < kServers ? static_cast<int>(age_of(server_)) : max_age_ms_;
}

size_t GoAway::send() { return server_ < kServers ? Ages::instance().run_all(server_) : 0; }

}  // namespace atl::frontends::grpc_frontend
