/// An event bus whose queue is delivered when a test says so.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/core/event_bus.h"

namespace atl::test {

/// Same rules as the server's: one order for all, present state first, bounded queues. [any], but deliver()
/// by one thread at a time: the test's control thread.
class FakeEventBus final : public EventBus {
 public:
  virtual ~FakeEventBus() = default;

  void publish_raw(std::string_view event_id, std::string_view key, const void* event, uint32_t size,
                   bool retain) noexcept override {
    std::lock_guard lock(mutex_);
    Bytes bytes(static_cast<const char*>(event), size);
    if (retain) retained_[std::string(event_id)][std::string(key)] = bytes;
    published_[std::string(event_id)] += 1;
    for (auto& [id, subscriber] : subscribers_) {
      if (subscriber.event_id == event_id) enqueue(subscriber, std::string(key), bytes);
    }
  }
  void forget(std::string_view event_id, std::string_view key) noexcept override {
    std::lock_guard lock(mutex_);
    if (auto found = retained_.find(std::string(event_id)); found != retained_.end())
      found->second.erase(std::string(key));
  }
  Result<uint64_t> subscribe_raw(std::string_view event_id, uint32_t size, const SubscriptionOptions& options,
                                 EventHandler handler, void* context) noexcept override {
    if (options.depth < 1 || options.depth > 65536) {
      return invalid_argument("depth of a subscription to ", event_id, " is ", options.depth,
                              "; expected 1..65536");
    }
    std::lock_guard lock(mutex_);
    auto known = sizes_.emplace(event_id, size).first;
    if (known->second != size) {
      return invalid_argument("event ", event_id, " has ", size, " bytes here and ", known->second,
                              " elsewhere");
    }
    uint64_t id = ++last_subscription_;
    Subscriber& subscriber = subscribers_[id];
    subscriber = {std::string(event_id), options, handler, context, {}, 0};
    for (const auto& [key, bytes] : retained_[subscriber.event_id]) enqueue(subscriber, key, bytes);
    return id;
  }
  void unsubscribe(uint64_t subscription) noexcept override {
    std::unique_lock lock(mutex_);
    subscribers_.erase(subscription);
    if (delivering_thread_ == std::this_thread::get_id()) return;
    delivered_.wait(lock, [&] { return running_ != subscription; });
  }
  uint64_t dropped(uint64_t subscription) const noexcept override {
    std::lock_guard lock(mutex_);
    auto found = subscribers_.find(subscription);
    return found == subscribers_.end() ? 0 : found->second.dropped;
  }
  EventBusStatistics statistics() const noexcept override {
    std::lock_guard lock(mutex_);
    EventBusStatistics now;
    for (const auto& [event_id, count] : published_) now.published += count;
    now.delivered = delivered_count_;
    now.subscriptions = subscribers_.size();
    for (const auto& [id, subscriber] : subscribers_) {
      now.dropped += subscriber.dropped;
      now.queued += subscriber.queue.size();
    }
    return now;
  }

  /// Runs handlers on this thread until nothing is queued. \returns the number of events delivered.
  uint64_t deliver() {
    uint64_t count = 0;
    while (deliver_one()) ++count;
    return count;
  }
  /// Events of an id published so far, whether anybody listened or not.
  uint64_t published(std::string_view event_id) const {
    std::lock_guard lock(mutex_);
    auto found = published_.find(std::string(event_id));
    return found == published_.end() ? 0 : found->second;
  }
  /// The present state of an event type, by key.
  template <class Event>
  std::map<std::string, Event> retained() const {
    std::lock_guard lock(mutex_);
    std::map<std::string, Event> states;
    auto found = retained_.find(std::string(Event::kEventId));
    if (found == retained_.end()) return states;
    for (const auto& [key, bytes] : found->second) std::memcpy(&states[key], bytes.data(), sizeof(Event));
    return states;
  }
  size_t subscriptions() const {
    std::lock_guard lock(mutex_);
    return subscribers_.size();
  }

 private:
  using Bytes = std::string;
  struct Queued {
    uint64_t order;
    std::string key;
    Bytes bytes;
  };
  struct Subscriber {
    std::string event_id;
    SubscriptionOptions options;
    EventHandler handler = nullptr;
    void* context = nullptr;
    std::deque<Queued> queue;
    uint64_t dropped = 0;
  };
  void enqueue(Subscriber& subscriber, std::string key, const Bytes& bytes) {
    if (subscriber.options.overflow == Overflow::kCoalesce) {
      for (Queued& queued : subscriber.queue) {
        if (queued.key == key) {
          queued.bytes = bytes;
          return;
        }
      }
    }
    if (subscriber.queue.size() >= subscriber.options.depth) {
      subscriber.queue.pop_front();
      ++subscriber.dropped;
    }
    subscriber.queue.push_back({++last_order_, std::move(key), bytes});
  }
  bool deliver_one() {
    std::unique_lock lock(mutex_);
    uint64_t first = 0;
    for (const auto& [id, subscriber] : subscribers_) {
      if (subscriber.queue.empty()) continue;
      if (first == 0 || subscriber.queue.front().order < subscribers_[first].queue.front().order) first = id;
    }
    if (first == 0) return false;
    Subscriber& subscriber = subscribers_[first];
    Queued event = std::move(subscriber.queue.front());
    subscriber.queue.pop_front();
    ++delivered_count_;
    EventHandler handler = subscriber.handler;
    void* context = subscriber.context;
    running_ = first;
    delivering_thread_ = std::this_thread::get_id();
    lock.unlock();
    handler(context, event.bytes.data());
    lock.lock();
    running_ = 0;
    delivering_thread_ = {};
    delivered_.notify_all();
    return true;
  }

  mutable std::mutex mutex_;
  std::condition_variable delivered_;
  std::map<std::string, uint32_t, std::less<>> sizes_;
  std::map<std::string, std::map<std::string, Bytes>> retained_;
  std::map<std::string, uint64_t> published_;
  std::map<uint64_t, Subscriber> subscribers_;
  uint64_t last_subscription_ = 0;
  uint64_t last_order_ = 0;
  uint64_t running_ = 0;
  uint64_t delivered_count_ = 0;
  std::thread::id delivering_thread_;
};

}  // namespace atl::test
