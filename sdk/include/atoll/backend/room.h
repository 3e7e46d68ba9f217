/// How much more an instance takes that answers after execute() has returned.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "atoll/backend/backend.h"

namespace atl::backends {

/// Counts the batch weights inside one instance and tells whoever sends it batches. An instance with
/// continuous batching has one, hands its three functions on to it, and is complete with
///
///     Status execute(const Batch& batch) noexcept override { room_.take(batch.total_batch_size); ... }
///     ... room_.give_back(request.batch_weight());  // for each request, before it is released
///
/// [any] for every function.
class Room {
 public:
  /// \param capacity  batch weights that may be inside at a time; at least the model's max_batch_size.
  explicit Room(uint32_t capacity) noexcept : left_(capacity) {}
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  uint32_t left() const noexcept { return left_.load(std::memory_order_acquire); }
  void take(uint32_t weight) noexcept { left_.fetch_sub(weight, std::memory_order_acq_rel); }
  void give_back(uint32_t weight) noexcept {
    left_.fetch_add(weight, std::memory_order_acq_rel);
    std::lock_guard lock(mutex_);
    for (RoomListener* listener : listeners_) listener->on_room();
  }

  /// \returns true, as BackendInstance::add_room_listener() is to.
  bool add_listener(RoomListener& listener) {
    std::lock_guard lock(mutex_);
    listeners_.push_back(&listener);
    return true;
  }
  void remove_listener(RoomListener& listener) noexcept {
    std::lock_guard lock(mutex_);
    listeners_.erase(std::find(listeners_.begin(), listeners_.end(), &listener));
  }

 private:
  std::atomic<uint32_t> left_;
  std::mutex mutex_;  // held while listeners are told, so that none is told after it was removed
  std::vector<RoomListener*> listeners_;
};

}  // namespace atl::backends
