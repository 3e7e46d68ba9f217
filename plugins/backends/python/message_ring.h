/// The two ends of a ring of messages, as this process has them: it produces on two of the three rings and consumes the third.
#pragma once

#include <atomic>
#include <cstdint>

#include "backends/python/protocol.h"

namespace atl::python {

/// Wakes up whoever waits for the word, in whatever process.
void wake_futex(uint32_t* word) noexcept;

/// Puts messages into a ring that the worker empties. One thread at a time. What the worker stores into the ring is believed only as
/// far as it can not do harm here.
class RingProducer {
 public:
  template <class Ring>
  explicit RingProducer(Ring& ring) noexcept
      : RingProducer(ring.header, ring.entries, sizeof ring.entries / sizeof ring.entries[0]) {}

  /// \returns false: the ring is full, and the worker says kNudge once it is not
  bool put(const Message& message) noexcept;

 private:
  RingProducer(RingHeader& header, Message* entries, uint32_t count) noexcept
      : header_(header), entries_(entries), count_(count) {}

  RingHeader& header_;
  Message* const entries_;
  const uint32_t count_;
  uint32_t tail_ = 0;
};

/// Takes messages out of the ring that the worker fills. One thread, which is the only one that waits; close() is for others.
class RingConsumer {
 public:
  template <class Ring>
  explicit RingConsumer(Ring& ring) noexcept
      : RingConsumer(ring.header, ring.entries, sizeof ring.entries / sizeof ring.entries[0]) {}

  enum class State : uint8_t { kMessage, kEmpty, kBroken };
  /// A copy of the next message, if there is one. kBroken: the worker has stored what can not be.
  State take(Message& message) noexcept;
  /// Blocks until there may be a message, close() was called, or some seconds have passed.
  void wait() noexcept;
  /// wait() does not block from here on. Once nobody fills the ring any more; by one thread, any.
  void close() noexcept;
  bool is_closed() const noexcept { return closing_.load(std::memory_order_seq_cst) != Closing::kNo; }

 private:
  enum class Closing : uint8_t { kNo, kBegun, kYes };
  uint32_t tail() const noexcept;
  RingConsumer(RingHeader& header, Message* entries, uint32_t count) noexcept
      : header_(header), entries_(entries), count_(count) {}

  RingHeader& header_;
  Message* const entries_;
  const uint32_t count_;
  uint32_t head_ = 0;
  std::atomic<Closing> closing_{Closing::kNo};
};

}  // namespace atl::python
