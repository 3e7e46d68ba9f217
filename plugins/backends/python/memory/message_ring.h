/// The two ends of a ring of messages, as this process has them: it produces on two of the three rings and consumes the third.
#pragma once

#include <atomic>
#include <cstdint>

#include "backends/python/memory/protocol.h"

namespace atl::python {

/// Wakes up whoever waits for the word, in whatever process.
void wake_futex(uint32_t* word) noexcept;

/// Puts messages into a ring that the worker empties. One thread at a time. What the worker stores into the ring is believed only as
/// far as it cannot do harm here.
class RingProducer {
 public:
  template <class Ring>
  explicit RingProducer(Ring& ring) noexcept
      : RingProducer(ring.header, ring.entries, sizeof ring.entries / sizeof ring.entries[0]) {}

  /// \returns false: the ring is full, and the worker says kNudge once it is not
  bool put(const RingMessage& message) noexcept;

 private:
  RingProducer(RingHeader& header, RingMessage* entries, uint32_t count) noexcept
      : header_(header), entries_(entries), count_(count) {}

  RingHeader& header_;
  RingMessage* const entries_;
  const uint32_t count_;
  uint32_t tail_ = 0;
};

/// Takes messages out of the ring that the worker fills: by one thread at a time. One thread waits with wait(), and another may with
/// wait_direct(); close() is for any.
class RingConsumer {
 public:
  template <class Ring>
  explicit RingConsumer(Ring& ring) noexcept
      : RingConsumer(ring.header, ring.entries, sizeof ring.entries / sizeof ring.entries[0]) {}

  enum class State : uint8_t { kMessage, kEmpty, kBroken };
  /// A copy of the next message, if there is one. kBroken: the worker has stored what cannot be.
  State take(RingMessage& message) noexcept;
  /// Blocks until there may be a message, close() was called, or some seconds have passed.
  void wait() noexcept;
  /// For the other thread: from here on the next message wakes up this one alone. Then what is there is to be taken.
  void arm_direct() noexcept;
  /// Blocks until there was a message since arm_direct(), or the time is over.
  void wait_direct(int64_t timeout_ns) noexcept;
  /// \returns whether there was one: nobody else was told, and it is to be taken
  bool disarm_direct() noexcept;
  /// wait() does not block from here on. Once nobody fills the ring any more; by one thread, any.
  void close() noexcept;
  bool is_closed() const noexcept { return closing_.load(std::memory_order_seq_cst) != Closing::kNo; }

 private:
  enum class Closing : uint8_t { kNo, kBegun, kYes };
  uint32_t tail() const noexcept;
  RingConsumer(RingHeader& header, RingMessage* entries, uint32_t count) noexcept
      : header_(header), entries_(entries), count_(count) {}

  RingHeader& header_;
  RingMessage* const entries_;
  const uint32_t count_;
  std::atomic<uint32_t> head_{0};  ///< read by who waits while the other one takes
  std::atomic<Closing> closing_{Closing::kNo};
};

}  // namespace atl::python
