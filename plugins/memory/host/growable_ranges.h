/// Ranges of addresses whose first pages can be used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "atoll/core/status.h"

namespace atl::memory {

/// The addresses are reserved without memory behind them; what was not asked for cannot be touched. [any]
class GrowableRanges {
 public:
  /// Each takes two mappings, one for what can be used and one for the rest, and Linux gives a process 65,530
  /// (`vm.max_map_count`): half of them are left to everybody else.
  static constexpr size_t kRangesMax = 16'384;

  GrowableRanges() = default;
  GrowableRanges(const GrowableRanges&) = delete;
  GrowableRanges& operator=(const GrowableRanges&) = delete;
  ~GrowableRanges();

  static uint64_t page_bytes() noexcept;
  /// A whole number of pages, at least one. \param size_bytes  at most 2^63
  static uint64_t whole_pages(uint64_t size_bytes) noexcept;

  /// Both sizes are whole pages. Errors: RESOURCE_EXHAUSTED.
  Result<void*> reserve(uint64_t most_bytes, uint64_t size_bytes) noexcept;
  /// What reserve() was given.
  uint64_t most_bytes(void* range) const noexcept;
  /// \param size_bytes  whole pages, within the range Errors: RESOURCE_EXHAUSTED nothing has changed.
  static Status use(void* range, uint64_t size_bytes) noexcept;
  void release(void* range) noexcept;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<void*, uint64_t> most_bytes_;
};

}  // namespace atl::memory
