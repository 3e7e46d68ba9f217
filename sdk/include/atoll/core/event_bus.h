/// The event bus: news of the control plane, such as "model resnet50 is READY". An event is only
/// news; what is true now is in the registry and in the catalog. There is never an event per
/// request.
///
///     struct OnModel {
///       void operator()(const ModelStateChanged& event) const { ... }  // on the control thread
///     };
///     Subscription<ModelStateChanged, OnModel> changes_{OnModel{}};
///     Status start() override { return changes_.open(host_.events()); }
///     void stop() override { changes_.reset(); }
///
/// An event is a trivially copyable struct with `static constexpr std::string_view kEventId`
/// ("atoll.model_state/1") and a function `key()` that names what the event is about. Those of the
/// server are in events.h and pools/pool_events.h; a plugin may publish its own.
///
/// Delivery is queued. All handlers run on the control thread, one after the other, in the order in
/// which the events were published. No lock is held meanwhile, so that a handler may publish,
/// subscribe and unsubscribe. A publisher never waits for a handler.
///
/// Each subscription has a queue of limited depth. With Overflow::kCoalesce a new event takes the
/// place of a queued event with the same key. In a full queue the oldest event is dropped and
/// counted. A new subscriber first gets the present state: the retained event of each key. Then it
/// gets the changes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "atoll/core/status.h"

namespace atl {

/// What a subscription does with an event whose key is in its queue already: kCoalesce replaces the
/// older event, which suits states; kDropOldest keeps both, for those who want each change.
enum class Overflow : uint32_t { kCoalesce = 0, kDropOldest = 1 };

struct SubscriptionOptions {
  /// How many events may wait in the queue, 1..65536. The present states that a new subscription
  /// gets at first do not count.
  uint32_t depth = 256;
  Overflow overflow = Overflow::kCoalesce;
};

/// What the bus as a whole has done since the server's start, over all plugins and subscriptions.
/// The metrics frontend shows these numbers as atoll_event_bus_*.
struct EventBusStatistics {
  /// Events that were given to the bus.
  uint64_t published = 0;
  /// Calls of handlers.
  uint64_t delivered = 0;
  /// Events that were lost to full queues.
  uint64_t dropped = 0;
  /// Events that wait for their delivery now.
  uint64_t queued = 0;
  /// Subscriptions that are open now.
  uint64_t subscriptions = 0;
};

/// Called with the context that was given at subscribe_raw(), and a copy of the event, which is
/// valid during the call. What a handler throws is caught, counted and logged.
using EventHandler = void (*)(void* context, const void* event);

/// The bus as one plugin instance sees it, from Host::events(). All functions may be called from
/// any thread; they take the bus's one lock for a moment. [any]
class EventBus {
 public:
  /// Puts a copy of the event into the queue of every subscription to the id. An event that cannot
  /// be published is logged as an error: its size is not 1..4096 bytes, or differs from the size
  /// that other users of the id have. Most plugins call publish() instead.
  /// \param event_id  "atoll.model_state/1"
  /// \param key  what the event is about; the bus coalesces and keeps states by it; borrowed during
  /// the call
  /// \param event  the struct, which is copied as bytes
  /// \param size  bytes of the struct, at most 4096
  /// \param retain  whether the bus keeps the event as the present state of its key, for later
  /// subscribers; it keeps the states of at most 65536 keys of one id
  virtual void publish_raw(std::string_view event_id, std::string_view key, const void* event, uint32_t size,
                           bool retain) noexcept = 0;
  /// Forgets the retained state of a key, as when the thing that it is about is gone. Events that
  /// are queued already are still delivered.
  virtual void forget(std::string_view event_id, std::string_view key) noexcept = 0;
  /// Opens a subscription. Most plugins use the class Subscription instead.
  /// \returns the number for unsubscribe()
  /// Errors: INVALID_ARGUMENT if the depth is out of range, the handler is null, or the event's
  /// size differs from that of other users of the id.
  virtual Result<uint64_t> subscribe_raw(std::string_view event_id, uint32_t size,
                                         const SubscriptionOptions& options, EventHandler handler,
                                         void* context) noexcept = 0;
  /// Ends a subscription; what waits in its queue is discarded. When the call returns, the
  /// subscription's handler neither runs nor will run. From inside a handler the call returns at
  /// once.
  virtual void unsubscribe(uint64_t subscription) noexcept = 0;
  /// How many events this subscription has lost because its queue was full; 0 for one that is not
  /// open.
  virtual uint64_t dropped(uint64_t subscription) const noexcept = 0;
  virtual EventBusStatistics statistics() const noexcept = 0;

  /// Publishes an event under its own id and key.
  /// \param retain  true for states: the event is kept for later subscribers until forget(). News
  /// that describes no state, such as "a lease was refused", passes false
  template <class Event>
  void publish(const Event& event, bool retain = true) noexcept {
    static_assert(std::is_trivially_copyable_v<Event> && sizeof(Event) <= 4096);
    publish_raw(Event::kEventId, event.key(), &event, sizeof(Event), retain);
  }

 protected:
  ~EventBus() = default;
};

/// A subscription that ends with this object. The handler is any callable void(const Event&); it
/// runs on the control thread. The object must stay at its address while it is open, and has to be
/// reset or destroyed before the plugin's stop() returns. [any]
template <class Event, class Handler>
class Subscription {
 public:
  explicit Subscription(Handler handler) : handler_(std::move(handler)) {}
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  ~Subscription() { reset(); }

  /// Begins to deliver events to the handler, the present states first. Call it once, and again
  /// only after reset().
  /// Errors: as EventBus::subscribe_raw().
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
  /// Ends the subscription as EventBus::unsubscribe() does. Does nothing if there is none.
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
