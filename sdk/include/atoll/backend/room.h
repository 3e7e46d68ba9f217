/// How much more an instance takes that answers after execute() has returned (continuous batching).
///
/// Without it a scheduler would send such an instance one batch after the other, because each execute()
/// returns at once. With it the scheduler keeps back what does not fit, where it can still be cancelled or
/// time out.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "atoll/backend/backend.h"

namespace atl::backends {

/// Counts the batch weights inside one instance, and tells whoever sends it batches when there are fewer. An
/// instance has one, hands BackendInstance's three functions on to it, and is complete with
///
///     Status execute(const Batch& batch) noexcept override {
///       room_.take(batch.total_batch_size);
///       ...
///     }
///     ... room_.give_back(request.batch_weight());  // for each request, before it is released
///
///     uint32_t room() const noexcept override { return room_.left(); }
///     bool add_room_listener(RoomListener& one) noexcept override { return room_.add_listener(one); }
///     void remove_room_listener(RoomListener& one) noexcept override { room_.remove_listener(one); }
///
/// Every function may be called from any thread [any]. give_back() calls the listeners with the lock of this
/// object held, so they must call neither add_listener() nor remove_listener(); they may call left().
class Room {
 public:
  /// \param capacity  batch weights that may be inside the instance at a time; at least the model's
  /// max_batch_size, and at least 1.
  explicit Room(uint32_t capacity) noexcept : left_(capacity) {}
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// Batch weights that the instance takes now.
  uint32_t left() const noexcept { return left_.load(std::memory_order_acquire); }
  /// In execute(), for all requests that the instance takes. What was taken for a request that fails at once
  /// is given back like any other.
  void take(uint32_t weight) noexcept { left_.fetch_sub(weight, std::memory_order_acq_rel); }
  /// For a request that is about to be released. Give back before the release, because after it the request
  /// must not be touched. Calls every listener before it returns.
  void give_back(uint32_t weight) noexcept {
    left_.fetch_add(weight, std::memory_order_acq_rel);
    std::lock_guard lock(mutex_);
    for (RoomListener* listener : listeners_) listener->on_room();
  }

  /// Adds a listener, which has to be removed before it goes. \returns true, as
  /// BackendInstance::add_room_listener() is to.
  bool add_listener(RoomListener& listener) {
    std::lock_guard lock(mutex_);
    listeners_.push_back(&listener);
    return true;
  }
  /// Removes a listener that was added. When this returns the listener is not being called and will not be.
  void remove_listener(RoomListener& listener) noexcept {
    std::lock_guard lock(mutex_);
    listeners_.erase(std::find(listeners_.begin(), listeners_.end(), &listener));
  }

 private:
  std::atomic<uint32_t> left_;
  /// Held while listeners are called, so that none is called after it was removed.
  std::mutex mutex_;
  std::vector<RoomListener*> listeners_;
};

}  // namespace atl::backends
