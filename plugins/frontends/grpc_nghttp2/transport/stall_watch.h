/// Whether a transfer that waits for its client makes progress.
#pragma once

#include <cstdint>

namespace atl::frontends::grpc_nghttp2 {

/// Looked at now and then, always after the same time.
class StallWatch {
 public:
  /// So many bytes between looks in a row are enough.
  static constexpr uint64_t kProgressBytes = uint64_t{16} << 10;

  /// \param waits  for the client; else there is nothing to make progress with \param bytes  moved so far
  /// \param most   looks without progress that are allowed \returns whether it had them
  bool is_stalled(bool waits, uint64_t bytes, uint32_t most) noexcept {
    if (!waits || !waiting_ || bytes - mark_ >= kProgressBytes) {
      waiting_ = waits;
      mark_ = bytes;
      looks_ = 0;
      return false;
    }
    return ++looks_ >= most;
  }
  void reset() noexcept { *this = {}; }

 private:
  uint64_t mark_ = 0;
  uint32_t looks_ = 0;
  bool waiting_ = false;  ///< at the last look
};

}  // namespace atl::frontends::grpc_nghttp2
