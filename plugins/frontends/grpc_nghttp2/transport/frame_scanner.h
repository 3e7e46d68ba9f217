/// The frames in what a client sends, whatever becomes of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace atl::frontends::grpc_nghttp2 {

struct FrameHead {
  uint32_t length = 0;  ///< of the payload
  uint8_t type = 0;
  uint8_t flags = 0;
};

/// Follows the heads of frames behind the preface; nghttp2 tells nothing of those that it ignores. Not thread
/// safe.
class FrameScanner {
 public:
  /// Reads on. \param tell  called with each head that is complete
  template <class Tell>
  void scan(std::span<const uint8_t> bytes, Tell tell) {
    while (!bytes.empty()) {
      if (skipped_ != 0) {
        const size_t taken = std::min<size_t>(skipped_, bytes.size());
        skipped_ -= static_cast<uint32_t>(taken);
        bytes = bytes.subspan(taken);
        continue;
      }
      const size_t taken = std::min(kHeadBytes - head_bytes_, bytes.size());
      std::memcpy(head_ + head_bytes_, bytes.data(), taken);
      head_bytes_ += taken;
      bytes = bytes.subspan(taken);
      if (head_bytes_ < kHeadBytes) return;
      head_bytes_ = 0;
      last_ = {uint32_t{head_[0]} << 16 | uint32_t{head_[1]} << 8 | head_[2], head_[3], head_[4]};
      skipped_ = last_.length;
      tell(last_);
    }
  }

  /// Part of a frame has come, and the rest has not.
  bool is_inside() const noexcept { return head_bytes_ != 0 || skipped_ != 0; }
  /// The last one whose head is complete.
  const FrameHead& last() const noexcept { return last_; }

 private:
  static constexpr size_t kHeadBytes = 9;
  static constexpr uint32_t kPrefaceBytes = 24;

  uint8_t head_[kHeadBytes] = {};
  size_t head_bytes_ = 0;
  uint32_t skipped_ = kPrefaceBytes;  ///< bytes that are no head
  FrameHead last_;
};

}  // namespace atl::frontends::grpc_nghttp2
