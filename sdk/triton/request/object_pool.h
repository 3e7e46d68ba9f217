/// Where objects come from that programs make and delete with every request.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "backend/cell_pool.h"

namespace atl::triton {

/// Objects of one type, which has the members `Object* next_free` and `uint32_t shard`. They are made once and given
/// out as they were given back, the warmest first; there are as many as were ever in use at the same time, and they
/// are never freed, so that a handle that is used after its end can be found out. [any]
///
/// A thread takes from its own shard, and an object goes back to where it is from, whichever thread is done with it.
/// Static storage: no destructor runs, foreign threads may go on to the end of the process.
template <class Object>
class ObjectPool {
 public:
  Object& take() {
    const uint32_t number = thread_number() % kShards;
    Shard& shard = shards_[number];
    {
      std::lock_guard lock(shard.mutex);
      if (shard.first != nullptr) return *std::exchange(shard.first, shard.first->next_free);
    }
    auto* made = new Object;
    made->shard = number;
    return *made;
  }
  void give_back(Object& object) noexcept {
    Shard& shard = shards_[object.shard];
    std::lock_guard lock(shard.mutex);
    object.next_free = shard.first;
    shard.first = &object;
  }

 private:
  static constexpr uint32_t kShards = 16;
  struct alignas(64) Shard {
    std::mutex mutex;
    Object* first = nullptr;
  };

  Shard shards_[kShards];
};

}  // namespace atl::triton
