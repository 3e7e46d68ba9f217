/// A value that is replaced while requests use it. Each use keeps the value that it began with.
///
///     Replaceable<Table> table_;
///     table_.replace(Table(...));                          // control thread; nobody waits
///     if (auto table = table_.hold()) table->look_up(key); // any thread
///     table_.replace(std::nullopt);                        // uses that begin now get no value
///     table_.close();                                      // in stop(): waits for the uses
///
/// A service that comes and goes is such a value: Followed (followed_service.h) holds one for it.
/// So is the list of the plugins that take part in each request, such as those that admit it: a new
/// list replaces the old one as a whole.
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

/// Holds one value, or none. The value itself never changes; a change is a new value. A value that
/// was replaced is destroyed when the last Hold on it has ended, by the thread that ends it, so its
/// destructor should be quick where requests hold it.
///
/// Without a value a use costs the load of a pointer. With a value it costs two additions to a
/// counter that threads do not share. Uses neither wait nor allocate. The object must stay at its
/// address while there is a value or a Hold.
template <class Value>
class Replaceable {
  struct Seat;

 public:
  /// One use, as short as a call or as long as a request; its value stays as it is. A Hold may move
  /// to another thread. Every Hold has to end before the Replaceable does, because close() and the
  /// destructor wait for it.
  class Hold {
   public:
    /// Holds nothing.
    Hold() noexcept = default;
    /// The other one holds nothing afterwards.
    Hold(Hold&& other) noexcept : seat_(std::exchange(other.seat_, nullptr)) {}
    Hold& operator=(Hold&& other) noexcept {
      if (this != &other) {
        reset();
        seat_ = std::exchange(other.seat_, nullptr);
      }
      return *this;
    }
    ~Hold() { reset(); }
    /// False: there was no value when the use began. Then the value must not be asked for.
    explicit operator bool() const noexcept { return seat_ != nullptr; }
    /// The value, which is constant: uses on several threads share it.
    const Value& operator*() const noexcept { return *seat_->value; }
    const Value* operator->() const noexcept { return &*seat_->value; }
    /// True once the value was replaced. Whoever keeps a hold between its uses ends the hold then,
    /// and begins another.
    bool is_outdated() const noexcept { return seat_ != nullptr && seat_->gate.closed(); }
    /// Ends the use before the object ends. If the value was replaced and this was its last use,
    /// the value is destroyed here, on this thread.
    void reset() noexcept {
      if (Seat* seat = std::exchange(seat_, nullptr)) seat->gate.leave();
    }
    /// For a use that is kept in a plain struct, which ends it by a call and not by a destructor.
    /// This object holds nothing afterwards.
    /// \returns the gate whose leave() ends the use from now on; null if there is no value
    Gate* detach() noexcept {
      Seat* seat = std::exchange(seat_, nullptr);
      return seat == nullptr ? nullptr : &seat->gate;
    }

   private:
    friend class Replaceable;
    /// Takes over one entry into the seat's gate.
    explicit Hold(Seat* seat) noexcept : seat_(seat) {}
    // Null: there is no value, or the use has ended.
    Seat* seat_ = nullptr;
  };

  /// There is no value at first.
  Replaceable() noexcept = default;
  /// Uses point into the object, so it has no copies.
  Replaceable(const Replaceable&) = delete;
  Replaceable& operator=(const Replaceable&) = delete;
  /// As close(): waits for the last use.
  ~Replaceable() { close(); }

  /// Makes this the value that uses get from here on, and returns at once. Uses that began before
  /// keep the value before. replace() and close() are called one at a time, as on the control
  /// thread.
  /// \param value  nothing: there is no value from here on
  /// \param pass  left when this value is destroyed: it keeps a gate from being empty while somebody
  /// still holds the value, where close() is not called to wait for that
  void replace(std::optional<Value> value, Pass pass = {}) {
    // Only the caller of replace() writes current_, so it reads its own value.
    Seat* const old = current_.load(std::memory_order_relaxed);
    Seat* next = nullptr;
    if (value) {
      next = &free_seat();
      next->value.emplace(std::move(*value));
      next->pass = std::move(pass);
      next->state.store(State::kOpen);
      next->gate.open();
    }
    // From here on hold() finds the new value. Whoever entered the old seat's gate before keeps the
    // old one.
    current_.store(next, std::memory_order_release);
    if (old == nullptr) return;
    old->state.store(State::kDraining);
    // If nobody holds the old value, this destroys it.
    old->gate.close();
  }
  /// Takes the value away. Returns when every Hold has ended and every value is destroyed; the
  /// thread yields until then, and does not sleep. In a plugin's stop(), after the plugin's gate is
  /// empty, no use is left and the call returns at once.
  void close() noexcept {
    replace(std::nullopt);
    for (const auto& seat : seats_) {
      // Uses are short, or their owners end them before close() is called.
      while (seat->state.load() != State::kFree) std::this_thread::yield();
    }
  }

  /// Whether a use would get a value now. [any]
  bool has_value() const noexcept { return current_.load(std::memory_order_acquire) != nullptr; }
  /// The value that there is now; null if there is none. For whoever calls replace(), who knows
  /// that it stays.
  const Value* value() const noexcept {
    const Seat* seat = current_.load(std::memory_order_relaxed);
    return seat == nullptr ? nullptr : &*seat->value;
  }
  /// How many holds there are, on values past and present. Exact when nobody begins or ends one
  /// meanwhile. For whoever calls replace().
  int64_t holds() const noexcept {
    int64_t count = 0;
    for (const auto& seat : seats_) count += seat->gate.count();
    return count;
  }
  /// Begins a use of the value that there is now. [any]
  Hold hold() const noexcept {
    // A gate that has closed since it was read belongs to a seat that is the current one no more; one that
    // was opened again, to a newer value, which is as good.
    while (Seat* seat = current_.load(std::memory_order_acquire)) {
      if (seat->gate.enter()) return Hold(seat);
    }
    return {};
  }

 private:
  // The life of a seat. kFree: it has no value. kOpen: it has the current one. kDraining: its value
  // was replaced, and somebody may hold it. kReleasing: a thread destroys the value.
  enum class State : uint32_t { kFree, kOpen, kDraining, kReleasing };
  // One value and the gate that its uses enter.
  struct Seat {
    Gate gate{&Replaceable::on_empty, this};
    /// Nothing while the seat is free.
    std::optional<Value> value;
    /// What replace() was given with the value.
    Pass pass;
    std::atomic<State> state{State::kFree};
  };

  // A seat without a value. Seats are used again, and never freed before the end, because a hold()
  // on another thread may still look at one.
  Seat& free_seat() {
    for (const auto& seat : seats_) {
      if (seat->state.load() == State::kFree) return *seat;
    }
    // Each value that somebody still holds has a seat of its own, so this one is more than there
    // were so far.
    seats_.push_back(std::make_unique<Seat>());
    // A gate begins open; nobody may enter this one before the seat has a value.
    seats_.back()->gate.close();
    return *seats_.back();
  }

  // Called by the seat's gate, on the thread that ended the last use, or by replace() where there
  // was none.
  static void on_empty(void* context) {
    auto& seat = *static_cast<Seat*>(context);
    // Of a seat that is in its next use already there may still be calls that belong to the one before.
    if (seat.state.load() != State::kDraining || !seat.gate.closed() || seat.gate.count() != 0) return;
    // Several threads may see the gate empty at the same time; one of them destroys the value.
    State expected = State::kDraining;
    if (!seat.state.compare_exchange_strong(expected, State::kReleasing)) return;
    // From here on only this thread touches the seat, until it is free again.
    seat.value.reset();
    const Pass pass = std::move(seat.pass);  // left last: then all of this may be gone
    seat.state.store(State::kFree);
  }

  /// As many as values were held at a time.
  std::vector<std::unique_ptr<Seat>> seats_;
  /// The seat that uses enter; null: there is no value.
  std::atomic<Seat*> current_{nullptr};
};

}  // namespace atl
