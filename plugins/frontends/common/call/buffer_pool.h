/// Buffers of one thread that wait to be used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "frontends/common/call/body_buffer.h"

namespace atl::frontends {

/// The last one used, whose memory is warm, comes first. Not thread safe.
class BufferPool {
 public:
  /// An empty buffer, perhaps with memory.
  BodyBuffer take() noexcept;
  /// Keeps the buffer, unless it is large or enough are kept.
  void give(BodyBuffer buffer) noexcept;

  /// Frees what nobody has taken since the last call: of a burst nothing stays. To be called now and then.
  void free_unused() noexcept;
  uint64_t kept_bytes() const noexcept { return kept_bytes_; }

  /// While one of them is there, what is given holds still: it is neither given out again nor freed.
  class Hold {
   public:
    explicit Hold(BufferPool& pool) noexcept : pool_(pool) { ++pool_.holds_; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() {
      if (--pool_.holds_ == 0) pool_.keep_held();
    }

   private:
    BufferPool& pool_;
  };

 private:
  void keep_held() noexcept;

  static constexpr size_t kLargestKept = size_t{4} << 20;
  static constexpr size_t kMostKeptBytes = size_t{32} << 20;
  static constexpr size_t kMostKept = 64;
  std::vector<BodyBuffer> kept_;
  uint32_t holds_ = 0;
  std::vector<BodyBuffer> held_;
  size_t kept_bytes_ = 0;
  size_t unused_ = 0;  ///< of kept_, from the front: not taken since free_unused()
};

}  // namespace atl::frontends
