/// Who is the last to be done with an object that several threads use up, in any order, and so may
/// free it.
///
///     enum : uint32_t { kAnswered = 1, kReleased = 2, kReturned = 4 };
///     OpenParts parts{kAnswered | kReleased | kReturned};
///     ...
///     if (parts.done(kReleased)) delete this;  // in each of the three places, with its own part
#pragma once

#include <atomic>
#include <cstdint>

namespace atl {

/// The parts of one use of an object, as bits: a request's final response, its release, the return
/// from the call that handed the request on. Each part is done once, by any thread, and whoever
/// does the last one may free the object. Costs one atomic operation per part, and no lock. [any]
class OpenParts {
 public:
  /// No part is open: a use begins with open().
  OpenParts() noexcept = default;
  /// \param parts  the bits of all parts that have to be done
  explicit OpenParts(uint32_t parts) noexcept : open_(parts) {}

  /// Begins a use. No other thread knows the object yet; an object that is used again may be opened
  /// again after its last part was done.
  void open(uint32_t parts) noexcept { open_.store(parts, std::memory_order_relaxed); }

  /// Says that these parts are done. Parts that were done already, or never open, do not count
  /// again.
  /// \returns true, once for each use: nothing is left, and the caller sees what the other threads
  /// did before their parts. False: others still use the object, and may free it at any moment, so
  /// the caller must not touch it any more
  bool done(uint32_t parts) noexcept {
    const uint32_t before = open_.fetch_and(~parts, std::memory_order_acq_rel);
    return (before & parts) != 0 && (before & ~parts) == 0;
  }

 private:
  std::atomic<uint32_t> open_{0};
};

}  // namespace atl
