/// The event bus: news of the control plane. An event is news, the registry and the catalog are the truth;
/// never one per request.
///
/// Events are trivially copyable structs with `static constexpr std::string_view kEventId`
/// ("atoll.model_state/1") and a `key()` that names what the event is about. Delivery is queued: one order
/// for all, on the control thread, with no lock held, so handlers may publish, subscribe and unsubscribe. A
/// publisher never waits. Queues are bounded: with Overflow::kCoalesce an event replaces the queued one of
/// the same key, with kDropOldest the oldest goes and is counted. A new subscriber to a state-like event
/// first gets the present state of every key, then the changes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "atoll/core/status.h"

namespace atl {

enum class Overflow : uint32_t { kCoalesce = 0, kDropOldest = 1 };

struct SubscriptionOptions {
  uint32_t depth = 256;  ///< events queued at most, 1..65536
  Overflow overflow = Overflow::kCoalesce;
};

/// What the bus as a whole has done since the start.
struct EventBusStatistics {
  uint64_t published = 0;      ///< events given to the bus
  uint64_t delivered = 0;      ///< handler calls
  uint64_t dropped = 0;        ///< events lost to full queues, over all subscriptions
  uint64_t queued = 0;         ///< waiting now, over all subscriptions
  uint64_t subscriptions = 0;  ///< open now
};

using EventHandler = void (*)(void* context, const void* event);

/// [any] except that handlers run on the control thread.
class EventBus {
 public:
  /// \param size    bytes of the event struct, at most 4096; copied.
  /// \param key     what the event is about, for coalescing and for the present state; borrowed during the
  /// call. \param retain  keep the event as the present state of its key, for later subscribers.
  virtual void publish_raw(std::string_view event_id, std::string_view key, const void* event, uint32_t size,
                           bool retain) noexcept = 0;
  /// Forgets the retained state of a key.
  virtual void forget(std::string_view event_id, std::string_view key) noexcept = 0;
  /// Errors: INVALID_ARGUMENT depth out of range, or the event's size differs from that of other users.
  virtual Result<uint64_t> subscribe_raw(std::string_view event_id, uint32_t size,
                                         const SubscriptionOptions& options, EventHandler handler,
                                         void* context) noexcept = 0;
  /// Returns when no handler of the subscription runs and none will; from inside the handler it returns at
  /// once.
  virtual void unsubscribe(uint64_t subscription) noexcept = 0;
  /// Events lost to kDropOldest by this subscription.
  virtual uint64_t dropped(uint64_t subscription) const noexcept = 0;
  virtual EventBusStatistics statistics() const noexcept = 0;

  /// With retain (states) the event is kept for later subscribers until forget(); news that is no state says
  /// false.
  template <class Event>
  void publish(const Event& event, bool retain = true) noexcept {
    static_assert(std::is_trivially_copyable_v<Event> && sizeof(Event) <= 4096);
    publish_raw(Event::kEventId, event.key(), &event, sizeof(Event), retain);
  }

 protected:
  ~EventBus() = default;
};

/// A subscription that ends with this object. Handler: void(const Event&), run on the control thread.
template <class Event, class Handler>
class Subscription {
 public:
  explicit Subscription(Handler handler) : handler_(std::move(handler)) {}
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  ~Subscription() { reset(); }

  Status open(EventBus& bus, const SubscriptionOptions& options = {}) noexcept {
    Result<uint64_t> id = bus.subscribe_raw(
        Event::kEventId, sizeof(Event), options,
        [](void* context, const void* raw) {
          Event event;
          std::memcpy(&event, raw, sizeof event);
          static_cast<Subscription*>(context)->handler_(event);
        },
        this);
    if (!id.ok()) return std::move(id).status();
    bus_ = &bus;
    id_ = id.value();
    return {};
  }
  void reset() noexcept {
    if (bus_ != nullptr) bus_->unsubscribe(id_);
    bus_ = nullptr;
  }

 private:
  Handler handler_;
  EventBus* bus_ = nullptr;
  uint64_t id_ = 0;
};

}  // namespace atl
