/// The frames in what a client sends, whatever becomes of them.
#pragma once

#include <cstdint>
#include <span>

#include "frontends/grpc_nghttp2/transport/frames/frame_head.h"
#include "frontends/grpc_nghttp2/transport/frames/length_scanner.h"

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
  /// Reads on. \param notify  called with each head that is complete
  template <class Notify>
  void scan(std::span<const uint8_t> bytes, Notify notify) {
    heads_.scan(bytes, [this, &notify](const uint8_t* head, uint32_t length) {
      last_ = {length, head[3], head[4]};
      notify(last_);
    });
  }

  /// Part of a frame, or of the preface, has come, and the rest has not.
  bool is_inside() const noexcept { return heads_.is_inside(); }
  /// Part of a frame's head has come, and the rest has not.
  bool is_in_head() const noexcept { return heads_.is_in_head(); }
  /// Bytes to come before the next frame begins, if that is not so.
  uint32_t left() const noexcept { return heads_.left(); }
  /// The last one whose head is complete.
  const FrameHead& last() const noexcept { return last_; }

 private:
  static constexpr uint32_t kPrefaceBytes = 24;

  LengthScanner<kFrameHeadBytes, 0, 3> heads_{kPrefaceBytes};
  FrameHead last_;
};

}  // namespace atl::frontends::grpc_nghttp2
