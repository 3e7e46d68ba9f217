/// The gate through which a frontend's calls pass.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "atoll/core/gate.h"

namespace atl::frontends {

/// The host closes its gate before it tells an instance to drain, but an instance that is replaced goes on
/// answering what clients had sent before they knew. So calls pass through a gate of the frontend's own,
/// which holds a single pass of the host's from open() until it was closed and the last call has left.
class CallGate {
 public:
  /// The call that leaves last may still be on its way out of the gate when the instance has ended, on a
  /// thread that nobody here knows. So the memory of the latest ones is kept, as the kernel does with its
  /// own.
  struct Keep {
    void operator()(CallGate* gate) const noexcept;
  };
  using Owner = std::unique_ptr<CallGate, Keep>;

  /// [control] The host's gate is open.
  static Owner open(Gate& host_gate) { return Owner(new CallGate(host_gate)); }
  ~CallGate() = default;

  /// [any] A call's pass; empty once the gate is closed.
  Pass enter() noexcept {
    Pass pass(gate_);
    if (pass && counting_.load(std::memory_order_relaxed)) begun_.fetch_add(1, std::memory_order_relaxed);
    return pass;
  }
  /// [any] No further call gets in. May be called again.
  void close() noexcept { gate_.close(); }
  /// [any]
  bool closed() const noexcept { return gate_.closed(); }
  /// [any] Calls that are inside.
  int64_t calls() const noexcept { return gate_.count(); }
  /// [any] From now on begun() counts the calls that come.
  void count_calls() noexcept { counting_.store(true, std::memory_order_relaxed); }
  uint64_t begun() const noexcept { return begun_.load(std::memory_order_relaxed); }

 private:
  explicit CallGate(Gate& host_gate)
      : gate_([](void* self) { static_cast<CallGate*>(self)->let_go(); }, this), of_host_(host_gate) {}
  void let_go() noexcept;

  Gate gate_;
  Pass of_host_;
  std::atomic<bool> holds_{true};
  std::atomic<bool> counting_{false};  ///< not always: threads would share the counter
  std::atomic<uint64_t> begun_{0};
};

}  // namespace atl::frontends
