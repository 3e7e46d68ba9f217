/// Buffers of one thread that wait to be used again.
#pragma once

#include <cstddef>
#include <vector>

#include "frontends/common/body_buffer.h"

namespace atl::frontends {

/// The last one used, whose memory is warm, comes first. Not thread safe.
class BufferPool {
 public:
  /// An empty buffer, perhaps with memory.
  BodyBuffer take() noexcept;
  /// Keeps the buffer, unless it is large or enough are kept.
  void give(BodyBuffer buffer) noexcept;

 private:
  static constexpr size_t kLargestKept = size_t{4} << 20;
  static constexpr size_t kMostKeptBytes = size_t{32} << 20;
  static constexpr size_t kMostKept = 64;
  std::vector<BodyBuffer> kept_;
  size_t kept_bytes_ = 0;
};

}  // namespace atl::frontends
