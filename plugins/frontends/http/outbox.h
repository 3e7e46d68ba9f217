/// What the client of one call is to get, on its way from the threads that make it to the connection's.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace atl::frontends::http {

/// Pieces in the order in which they are pushed, and marks, bits that stay set. Bytes count from push() until
/// the network has them.
class Outbox {
 public:
  enum Mark : uint32_t {
    kEnd = 1,  ///< nothing comes after
    kCut = 2   ///< the client gets no more than what is there, because too much waits for it
  };
  struct Content {
    std::vector<std::string> pieces;
    uint32_t marks = 0;  ///< all that were ever set
  };

  /// [any] \param piece  empty: only the marks
  /// \returns true: the connection's thread is to be told. False: it knows, and after kEnd may have freed this
  bool push(std::string piece, uint32_t marks) noexcept {
    waiting_bytes_.fetch_add(piece.size(), std::memory_order_relaxed);
    std::lock_guard lock(mutex_);
    if (!piece.empty()) content_.pieces.push_back(std::move(piece));
    content_.marks |= marks;
    return !std::exchange(is_notified_, true);
  }
  /// Whether a piece may still wait. A single one may be larger than `most` if nothing else waits. [any]
  bool has_room(uint64_t bytes, uint64_t most) const noexcept {
    const uint64_t waiting = waiting_bytes();
    return waiting == 0 || waiting + bytes <= most;
  }
  uint64_t waiting_bytes() const noexcept { return waiting_bytes_.load(std::memory_order_relaxed); }

  // --- the connection's thread ---
  /// Takes the pieces. Until finish() it is not told again, so nothing is sent inside what it sends.
  Content take() noexcept {
    std::lock_guard lock(mutex_);
    return {std::exchange(content_.pieces, {}), content_.marks};
  }
  /// \param taken  the marks that take() gave
  /// \returns true: something was pushed meanwhile, and the thread is to be told
  bool finish(uint32_t taken) noexcept {
    std::lock_guard lock(mutex_);
    is_notified_ = !content_.pieces.empty() || content_.marks != taken;
    return is_notified_;
  }
  void written(uint64_t bytes) noexcept { waiting_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> waiting_bytes_{0};
  std::mutex mutex_;  ///< guards what follows
  Content content_;
  bool is_notified_ = false;
};

}  // namespace atl::frontends::http
