/// Where pieces begin in bytes that come cut anywhere, when each piece says how long it is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace atl::frontends::grpc_nghttp2 {

/// Pieces have a head of kHeadBytes with their length, without the head, in kLengthBytes from kLengthAt on, most
/// significant first. Not thread safe.
template <size_t kHeadBytes, size_t kLengthAt, size_t kLengthBytes>
class LengthScanner {
 public:
  /// \param skipped  bytes before the first head
  explicit LengthScanner(uint32_t skipped = 0) noexcept : skipped_(skipped) {}

  /// Reads on. \param notify  called with each head that is complete, and the length that it says
  template <class Notify>
  void scan(std::span<const uint8_t> bytes, Notify notify) {
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
      skipped_ = length_of(head_);
      notify(head_, skipped_);
    }
  }
  /// Ready for other bytes, which begin with a head.
  void reset() noexcept {
    head_bytes_ = 0;
    skipped_ = 0;
  }
  /// Where so many pieces have ended in the next bytes; 0: not before the last byte, or that cannot be told.
  size_t end_of(size_t count, std::span<const uint8_t> bytes) const noexcept {
    if (is_in_head() || count == 0) return 0;
    size_t at = skipped_;
    if (at != 0) --count;  // the one that has begun
    for (; count != 0 && at + kHeadBytes <= bytes.size(); --count) at += kHeadBytes + length_of(&bytes[at]);
    return count == 0 && at < bytes.size() ? at : 0;
  }
  /// Part of a piece has come, and the rest has not.
  bool is_inside() const noexcept { return head_bytes_ != 0 || skipped_ != 0; }
  /// Part of a head has come, and the rest has not.
  bool is_in_head() const noexcept { return head_bytes_ != 0; }
  /// Bytes to come before the next head begins; 0 within a head.
  uint32_t left() const noexcept { return skipped_; }

 private:
  static uint32_t length_of(const uint8_t* head) noexcept {
    uint32_t length = 0;
    for (size_t i = 0; i < kLengthBytes; ++i) length = length << 8 | head[kLengthAt + i];
    return length;
  }

  uint8_t head_[kHeadBytes] = {};
  size_t head_bytes_ = 0;
  uint32_t skipped_;  ///< bytes that are no head; 0 where a length is read
};

}  // namespace atl::frontends::grpc_nghttp2
