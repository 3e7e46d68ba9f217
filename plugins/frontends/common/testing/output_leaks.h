/// Whether the memory of large outputs is given back.
#pragma once

#include <malloc.h>

#include <cstdint>

namespace atl::frontends::test_support {

/// An output of this size has memory of its own, which is the C library's again as soon as it is freed.
inline constexpr uint64_t kLargeOutput = 48 << 10;

/// Compares what of the C library's memory is in use with what was when this was made. What a test itself takes
/// meanwhile is to be less than one large output.
class OutputLeaks {
 public:
  bool none() const noexcept { return used_bytes() < before_ + kLargeOutput; }

 private:
  static uint64_t used_bytes() noexcept {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
  }
  const uint64_t before_ = used_bytes();
};

}  // namespace atl::frontends::test_support
