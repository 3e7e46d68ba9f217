/// The event bus's core, shared by all instances: subscriptions, queues and the present state.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "atoll/core/event_bus.h"
#include "atoll/core/log.h"
#include "atoll/runtime/call_watch.h"

namespace atl::runtime {

/// Semantics as in atoll/core/event_bus.h; deliver() is what the control thread calls.
class EventQueue {
 public:
  static constexpr uint32_t kEventBytesMax = 4096;
  static constexpr uint32_t kDepthMax = 65536;
  /// Keys of one event id whose present state is kept; further ones are delivered but not kept.
  static constexpr size_t kRetainedKeysMax = 65536;

  /// \param wake  asks the control thread to call deliver(); called from any thread, with no lock held.
  /// \param calls  watches the handlers; null: nobody does
  EventQueue(std::function<void()> wake, Log& log, CallWatch* calls = nullptr)
      : wake_(std::move(wake)), log_(log), calls_(calls) {}

  void publish(std::string_view event_id, std::string_view key, const void* event, uint32_t size,
               bool retain) noexcept;                                     ///< [any]
  void forget(std::string_view event_id, std::string_view key) noexcept;  ///< [any]
  Result<uint64_t> subscribe(std::string_view event_id, uint32_t size, const SubscriptionOptions& options,
                             EventHandler handler, void* context) noexcept;  ///< [any]
  void unsubscribe(uint64_t subscription) noexcept;                          ///< [any]
  uint64_t dropped(uint64_t subscription) const noexcept;                    ///< [any]
  EventBusStatistics statistics() const noexcept;                            ///< [any]

  /// Delivers everything queued, and what handlers publish meanwhile up to kTurnMax. [control]
  void deliver();
  size_t subscriptions() const;     ///< [any]
  uint64_t handler_throws() const;  ///< [any]

 private:
  using Payload = std::shared_ptr<const std::vector<char>>;
  static constexpr size_t kTurnMax = 4096;

  struct Queued {
    std::string key;
    Payload payload;
    bool initial = false;  // present state for a new subscriber: bounded by what is kept, not by the depth
  };
  struct Subscriber {
    std::string event_id;
    std::string text;  // of the handler, as the watch of calls tells it; empty: nobody watches
    SubscriptionOptions options;
    EventHandler handler = nullptr;
    void* context = nullptr;
    std::map<uint64_t, Queued> queue;                     // by sequence number
    std::map<std::string, uint64_t, std::less<>> newest;  // key -> its queued sequence number (kCoalesce)
    size_t counted = 0;                                   // queued and not initial
    uint64_t dropped = 0;
  };
  struct Topic {
    uint32_t size = 0;
    std::map<std::string, Payload, std::less<>> retained;
    std::vector<uint64_t> subscribers;
  };

  Topic* topic_for(std::string_view event_id, uint32_t size);
  void enqueue(uint64_t id, Subscriber& subscriber, std::string_view key, const Payload& payload,
               bool initial);
  void remove_queued(Subscriber& subscriber, uint64_t sequence);
  bool deliver_one();

  const std::function<void()> wake_;
  Log& log_;
  CallWatch* const calls_;
  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable handler_done_;
  std::map<std::string, Topic, std::less<>> topics_;
  std::map<uint64_t, Subscriber> subscribers_;
  std::map<uint64_t, uint64_t> order_;  // sequence number -> subscription: one order for all
  uint64_t next_sequence_ = 1;
  uint64_t next_subscription_ = 1;
  uint64_t delivering_to_ = 0;
  std::thread::id delivering_thread_;
  uint64_t handler_throws_ = 0;
  EventBusStatistics totals_;  ///< queued and subscriptions are counted when asked for
};

/// The bus as one plugin instance sees it; knows the subscriptions that the instance has open. [any]
class InstanceEvents final : public EventBus {
 public:
  explicit InstanceEvents(EventQueue& queue) : queue_(queue) {}
  void publish_raw(std::string_view event_id, std::string_view key, const void* event, uint32_t size,
                   bool retain) noexcept override {
    queue_.publish(event_id, key, event, size, retain);
  }
  void forget(std::string_view event_id, std::string_view key) noexcept override {
    queue_.forget(event_id, key);
  }
  Result<uint64_t> subscribe_raw(std::string_view event_id, uint32_t size, const SubscriptionOptions& options,
                                 EventHandler handler, void* context) noexcept override;
  void unsubscribe(uint64_t subscription) noexcept override;
  uint64_t dropped(uint64_t subscription) const noexcept override { return queue_.dropped(subscription); }
  EventBusStatistics statistics() const noexcept override { return queue_.statistics(); }

  /// Ends what the instance left open. \returns how many.
  size_t end_all() noexcept;

 private:
  EventQueue& queue_;
  std::mutex mutex_;  // guards open_
  std::vector<uint64_t> open_;
};

}  // namespace atl::runtime
