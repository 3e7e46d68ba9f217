/// The worker's ends of the rings, for tests that play the worker.
#pragma once

#include <atomic>
#include <cstring>

#include "backends/python/memory/message_ring.h"
#include "backends/python/memory/protocol.h"

namespace atl::python {

/// Produces or consumes; one thread at a time.
class WorkerRing {
 public:
  template <class Ring>
  explicit WorkerRing(Ring& ring)
      : header_(ring.header), entries_(ring.entries), count_(sizeof ring.entries / sizeof ring.entries[0]) {}

  bool put(const RingMessage& message) {
    const uint32_t tail = header_.tail;
    if (tail - std::atomic_ref(header_.head).load() >= count_) return false;
    std::memcpy(&entries_[tail % count_], &message, sizeof message);
    std::atomic_ref(header_.tail).store(tail + 1);
    if (std::atomic_ref(header_.consumer_waiting).load() != 0) wake_futex(&header_.tail);
    return true;
  }
  bool take(RingMessage& message) {
    const uint32_t head = header_.head;
    if (std::atomic_ref(header_.tail).load() == head) return false;
    std::memcpy(&message, &entries_[head % count_], sizeof message);
    std::atomic_ref(header_.head).store(head + 1);
    return true;
  }

 private:
  RingHeader& header_;
  RingMessage* entries_;
  uint32_t count_;
};

}  // namespace atl::python
