/// Who is done with an object that several threads use up, in any order.
#pragma once

#include <atomic>
#include <cstdint>

namespace atl {

/// The parts of one use of an object (a request's final response, its release, the return from the call that
/// handed it on, ...), as bits. Each is done once; whoever does the last one may free the object. [any]
class OpenParts {
 public:
  OpenParts() noexcept = default;
  explicit OpenParts(uint32_t parts) noexcept : open_(parts) {}

  /// Starts a use; nobody else knows the object yet.
  void open(uint32_t parts) noexcept { open_.store(parts, std::memory_order_relaxed); }

  /// These are done. Those that were done already, or never open, do not count again.
  /// \returns true, once for each use: nothing is left, and what other threads did before their parts is
  /// seen. False: the object may be freed at any moment
  bool done(uint32_t parts) noexcept {
    const uint32_t before = open_.fetch_and(~parts, std::memory_order_acq_rel);
    return (before & parts) != 0 && (before & ~parts) == 0;
  }

 private:
  std::atomic<uint32_t> open_{0};
};

}  // namespace atl
