#include "backends/python/memory/message_ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>

namespace atl::python {
namespace {

/// A worker that has ended is told by close(); this is for one that has passed its memory on to somebody who plays with it.
constexpr timespec kWaitAtMost = {5, 0};

/// What close() does to the tail, so that it is another value than whoever is about to wait has seen.
constexpr uint32_t kClosedMark = 0x80000000;

std::atomic_ref<uint32_t> shared(uint32_t& word) noexcept { return std::atomic_ref<uint32_t>(word); }

void wait_futex(uint32_t* word, uint32_t value, const timespec& at_most) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAIT, value, &at_most, nullptr, 0);
}

}  // namespace

void wake_futex(uint32_t* word) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool RingProducer::put(const RingMessage& message) noexcept {
  // More than the ring has: a worker that lies. It gets its own messages overwritten at worst.
  const auto is_full = [&] { return tail_ - shared(header_.head).load(std::memory_order_acquire) == count_; };
  if (is_full()) {
    shared(header_.producer_waiting).store(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (is_full()) return false;
    shared(header_.producer_waiting).store(0, std::memory_order_relaxed);
  }
  std::memcpy(&entries_[tail_ % count_], &message, sizeof message);
  shared(header_.tail).store(++tail_, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (shared(header_.consumer_waiting).load(std::memory_order_relaxed) != 0) wake_futex(&header_.tail);
  return true;
}

uint32_t RingConsumer::tail() const noexcept {
  while (true) {
    const uint32_t found = shared(header_.tail).load(std::memory_order_seq_cst);
    switch (closing_.load(std::memory_order_seq_cst)) {
      case Closing::kNo:
        return found;
      case Closing::kYes:
        return shared(header_.tail).load(std::memory_order_seq_cst) ^ kClosedMark;
      case Closing::kBegun:
        break;
    }
  }
}

RingConsumer::State RingConsumer::take(RingMessage& message) noexcept {
  const uint32_t head = head_.load(std::memory_order_relaxed);
  const uint32_t filled = tail() - head;
  if (filled == 0) return State::kEmpty;
  if (filled > count_) return State::kBroken;
  std::memcpy(&message, &entries_[head % count_], sizeof message);
  head_.store(head + 1, std::memory_order_relaxed);
  shared(header_.head).store(head + 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (shared(header_.producer_waiting).load(std::memory_order_relaxed) != 0) {
    shared(header_.producer_waiting).store(0, std::memory_order_relaxed);
    wake_futex(&header_.head);
  }
  return State::kMessage;
}

void RingConsumer::wait() noexcept {
  shared(header_.consumer_waiting).store(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // Before it is asked whether it is closed: if it is from here on, the word has another value.
  const uint32_t found = shared(header_.tail).load(std::memory_order_seq_cst);
  if (found == head_.load(std::memory_order_relaxed) && !is_closed())
    wait_futex(&header_.tail, found, kWaitAtMost);
  shared(header_.consumer_waiting).store(0, std::memory_order_relaxed);
}

void RingConsumer::arm_direct() noexcept {
  shared(header_.direct).store(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void RingConsumer::wait_direct(int64_t timeout_ns) noexcept {
  constexpr int64_t kSecond = 1'000'000'000;
  wait_futex(&header_.direct, 1, {timeout_ns / kSecond, timeout_ns % kSecond});
}

bool RingConsumer::disarm_direct() noexcept {
  return shared(header_.direct).exchange(0, std::memory_order_seq_cst) == 0;
}

void RingConsumer::close() noexcept {
  if (closing_.exchange(Closing::kBegun, std::memory_order_seq_cst) == Closing::kNo) {
    shared(header_.tail).fetch_xor(kClosedMark, std::memory_order_seq_cst);
  }
  closing_.store(Closing::kYes, std::memory_order_seq_cst);
  wake_futex(&header_.tail);
}

}  // namespace atl::python
