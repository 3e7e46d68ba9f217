/// What the exchanges of tests share, whatever their protocol is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/core/text.h"
#include "atoll/request/cancellation.h"

namespace atl::test {

/// One exchange with a client that the test is. Breaches of the interface are collected in problems(): every
/// test should expect none. The object outlives its provider. [any] once it was sent.
/// \tparam Interface  HttpExchange or GrpcExchange
template <class Interface>
class FakeExchange : public Interface {
 public:
  static constexpr size_t kKeptBytes = 1 << 20;  ///< of an answer that goes on for longer

  FakeExchange(const FakeExchange&) = delete;
  FakeExchange& operator=(const FakeExchange&) = delete;
  virtual ~FakeExchange() = default;

  // --- the client ---
  /// Takes nothing of what comes in pieces; it is sent away when more than so many bytes wait. Before the
  /// exchange is sent.
  void take_nothing(uint64_t most_waiting_bytes) noexcept { most_waiting_bytes_ = most_waiting_bytes; }
  /// It goes away, if it is still there.
  void leave() {
    {
      std::lock_guard lock(mutex_);
      has_left_ = true;
    }
    cancellation_.cancel();
  }

  // --- looking ---
  /// Waits for the end. \returns false: there is none after so long
  [[nodiscard]] bool wait_end(std::chrono::milliseconds most) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [&] { return has_ended_; });
  }
  /// Waits for the beginning of an answer in pieces, or the end. \returns false: neither is there after so long
  [[nodiscard]] bool wait_begin(std::chrono::milliseconds most) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [&] { return has_begun_ || has_ended_; });
  }
  std::vector<std::string> problems() const {
    std::lock_guard lock(mutex_);
    return problems_;
  }

  // --- the interface ---
  Cancellation& cancellation() noexcept override {
    std::lock_guard lock(mutex_);
    (void)may_touch("cancellation");
    return cancellation_;
  }
  Status write(std::string piece) noexcept override {
    {
      std::lock_guard lock(mutex_);
      if (!may_touch("write")) return Status(Code::kCancelled, "the exchange has ended");
      if (has_left_) return Status(Code::kCancelled, "the client has gone");
      const uint64_t bytes = piece.size() + piece_overhead_bytes_;
      // A single piece may be larger than the limit if nothing else waits.
      has_left_ = waiting_bytes_ != 0 && waiting_bytes_ + bytes > most_waiting_bytes_;
      if (!has_left_) {
        keep(std::move(piece));
        if (most_waiting_bytes_ != kTakesAll) waiting_bytes_ += bytes;
        return {};
      }
    }
    cancellation_.cancel();
    return Status(Code::kResourceExhausted, "too much waits for the client");
  }
  uint64_t waiting_bytes() const noexcept override {
    std::lock_guard lock(mutex_);
    return may_touch("waiting_bytes") ? waiting_bytes_ : 0;
  }

 protected:
  /// \param piece_overhead_bytes  what each piece counts beside its bytes
  explicit FakeExchange(uint64_t piece_overhead_bytes) : piece_overhead_bytes_(piece_overhead_bytes) {}

  // --- with the lock ---
  /// A piece has reached the client.
  virtual void keep(std::string piece) = 0;
  bool may_touch(std::string_view function) const {
    if (has_ended_) problems_.push_back(cat(function, "() after the end"));
    return !has_ended_;
  }
  void set_begun() {
    has_begun_ = true;
    changed_.notify_all();
  }
  void set_ended() {
    has_ended_ = true;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;  ///< guards what follows, and what the derived class has
  bool has_begun_ = false;
  bool has_ended_ = false;
  mutable std::vector<std::string> problems_;

 private:
  static constexpr uint64_t kTakesAll = std::numeric_limits<uint64_t>::max();

  mutable std::condition_variable changed_;
  bool has_left_ = false;       ///< under mutex_
  uint64_t waiting_bytes_ = 0;  ///< under mutex_
  uint64_t most_waiting_bytes_ = kTakesAll;
  const uint64_t piece_overhead_bytes_;
  Cancellation cancellation_;
};

}  // namespace atl::test
