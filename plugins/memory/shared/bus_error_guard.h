/// Keeps the process alive when the pages of a mapped object vanish under it.
///
/// An owner may shrink a shared memory object at any time; touching a page that has gone then raises SIGBUS.
/// While the guard is installed, a fault inside a watched mapping puts zeroed memory of our own in place of
/// the rest of that mapping, marks it broken and lets the access go on. Any other SIGBUS goes where it would
/// have gone without the guard.
///
/// Signal handlers are the process's, so all of this is static. The handler takes no lock and allocates
/// nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "atoll/core/status.h"

namespace atl::memory {

class BusErrorGuard {
 public:
  /// A watched mapping.
  class Watch;

  /// Most mappings watched at a time, in the whole process.
  static constexpr uint32_t kWatches = 65536;

  /// Counted: the handler goes with the last uninstall(). [control]
  /// Errors: INTERNAL the system refuses the handler.
  static Status install() noexcept;
  /// No mapping may be watched that could still fault. If somebody has put a handler of their own over this
  /// one, it may lead back here: then it stays and this code is never unmapped. [control]
  static void uninstall() noexcept;

  /// From now on faults in the mapping are survived. \param begin, size_bytes  whole pages. Null: kWatches
  /// mappings are watched. [any]
  static Watch* watch(void* begin, size_t size_bytes) noexcept;
  /// Before the mapping is unmapped, once nobody uses it. [any]
  static void forget(Watch* watch) noexcept;
  /// Whether pages of the mapping had gone when somebody touched them. True before any access gives zeros in
  /// their place. [any]
  static bool broken(const Watch* watch) noexcept;
};

class BusErrorGuard::Watch {
 public:
  Watch() noexcept = default;

 private:
  friend class BusErrorGuard;
  friend struct BusErrorHandler;
  /// False: it is being changed, or does not hold the address.
  bool holds(uintptr_t address, uintptr_t* end) const noexcept;

  std::atomic<bool> taken_{false};
  std::atomic<bool> broken_{false};
  std::atomic<uint32_t> changes_{0};  ///< odd while begin_ and end_ are being changed
  std::atomic<uintptr_t> begin_{0};
  std::atomic<uintptr_t> end_{0};
};

}  // namespace atl::memory
