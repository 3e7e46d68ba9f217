/// Those who wait until an instance takes a batch.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "atoll/backend/backend.h"

namespace atl::python {

/// Whoever is to be told. [any]
class RoomListeners {
 public:
  void notify() noexcept {
    std::lock_guard lock(mutex_);
    for (RoomListener* listener : listeners_) listener->on_room();
  }
  bool add_listener(RoomListener& listener) {
    std::lock_guard lock(mutex_);
    listeners_.push_back(&listener);
    return true;
  }
  void remove_listener(RoomListener& listener) noexcept {
    std::lock_guard lock(mutex_);
    std::erase(listeners_, &listener);
  }

 private:
  std::mutex mutex_;  // held while listeners are told, so that none is told after it was removed
  std::vector<RoomListener*> listeners_;
};

}  // namespace atl::python
