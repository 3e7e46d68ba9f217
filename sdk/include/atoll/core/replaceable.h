/// A value that is replaced while requests use it: each use keeps the value it began with.
///
///     Replaceable<Table> table_;
///     table_.replace(Table(...));                          // control thread; nobody waits
///     if (auto table = table_.hold()) table->look_up(key); // any thread
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/core/gate.h"

namespace atl {

/// The value before is destroyed when the last Hold on it has ended, by the thread that ends it. Without a
/// value a use costs the load of a pointer; with one, two additions to a counter that threads do not share.
/// The address must stay the same while there is a value or a Hold.
template <class Value>
class Replaceable {
  struct Seat;

 public:
  /// One use, as short as a call or as long as a request: its value stays. Moves between threads. Has to end
  /// before the Replaceable does.
  class Hold {
   public:
    Hold() noexcept = default;
    Hold(Hold&& other) noexcept : seat_(std::exchange(other.seat_, nullptr)) {}
    Hold& operator=(Hold&& other) noexcept {
      if (this != &other) {
        reset();
        seat_ = std::exchange(other.seat_, nullptr);
      }
      return *this;
    }
    ~Hold() { reset(); }
    /// False: there is no value.
    explicit operator bool() const noexcept { return seat_ != nullptr; }
    const Value& operator*() const noexcept { return *seat_->value; }
    const Value* operator->() const noexcept { return &*seat_->value; }
    /// The value was replaced since: whoever keeps a hold between its uses ends it now.
    bool is_outdated() const noexcept { return seat_ != nullptr && seat_->gate.closed(); }
    void reset() noexcept {
      if (Seat* seat = std::exchange(seat_, nullptr)) seat->gate.leave();
    }
    /// The gate whose leave() ends this hold from now on, for a hold that is kept where no destructor runs; null:
    /// there is no value.
    Gate* detach() noexcept {
      Seat* seat = std::exchange(seat_, nullptr);
      return seat == nullptr ? nullptr : &seat->gate;
    }

   private:
    friend class Replaceable;
    explicit Hold(Seat* seat) noexcept : seat_(seat) {}
    Seat* seat_ = nullptr;
  };

  Replaceable() noexcept = default;
  Replaceable(const Replaceable&) = delete;
  Replaceable& operator=(const Replaceable&) = delete;
  ~Replaceable() { close(); }

  /// \param value  nothing: there is none from here on
  /// \param pass   of whom the last Hold on this value has to be waited for, if not by close()
  /// Of the two functions, one call at a time.
  void replace(std::optional<Value> value, Pass pass = {}) {
    Seat* const old = current_.load(std::memory_order_relaxed);
    Seat* next = nullptr;
    if (value) {
      next = &free_seat();
      next->value.emplace(std::move(*value));
      next->pass = std::move(pass);
      next->state.store(State::kOpen);
      next->gate.open();
    }
    current_.store(next, std::memory_order_release);
    if (old == nullptr) return;
    old->state.store(State::kDraining);
    old->gate.close();
  }
  /// There is no value from here on. Returns when every Hold has ended and every value is destroyed.
  void close() noexcept {
    replace(std::nullopt);
    for (const auto& seat : seats_) {
      while (seat->state.load() != State::kFree) std::this_thread::yield();
    }
  }

  /// [any]
  bool has_value() const noexcept { return current_.load(std::memory_order_acquire) != nullptr; }
  /// The value there is now, for whoever calls replace(); null: none.
  const Value* value() const noexcept {
    const Seat* seat = current_.load(std::memory_order_relaxed);
    return seat == nullptr ? nullptr : &*seat->value;
  }
  /// Holds there are, on values past and present, for whoever calls replace().
  int64_t holds() const noexcept {
    int64_t count = 0;
    for (const auto& seat : seats_) count += seat->gate.count();
    return count;
  }
  /// [any]
  Hold hold() const noexcept {
    // A gate that has closed since it was read belongs to a seat that is the current one no more; one that
    // was opened again, to a newer value, which is as good.
    while (Seat* seat = current_.load(std::memory_order_acquire)) {
      if (seat->gate.enter()) return Hold(seat);
    }
    return {};
  }

 private:
  enum class State : uint32_t { kFree, kOpen, kDraining, kReleasing };
  struct Seat {
    Gate gate{&Replaceable::on_empty, this};
    std::optional<Value> value;
    Pass pass;
    std::atomic<State> state{State::kFree};
  };

  Seat& free_seat() {
    for (const auto& seat : seats_) {
      if (seat->state.load() == State::kFree) return *seat;
    }
    seats_.push_back(std::make_unique<Seat>());
    seats_.back()->gate.close();
    return *seats_.back();
  }

  static void on_empty(void* context) {
    auto& seat = *static_cast<Seat*>(context);
    // Of a seat that is in its next use already there may still be calls that belong to the one before.
    if (seat.state.load() != State::kDraining || !seat.gate.closed() || seat.gate.count() != 0) return;
    State expected = State::kDraining;
    if (!seat.state.compare_exchange_strong(expected, State::kReleasing)) return;
    seat.value.reset();
    const Pass pass = std::move(seat.pass);  // left last: then all of this may be gone
    seat.state.store(State::kFree);
  }

  std::vector<std::unique_ptr<Seat>> seats_;  ///< as many as values were held at a time
  std::atomic<Seat*> current_{nullptr};
};

}  // namespace atl
