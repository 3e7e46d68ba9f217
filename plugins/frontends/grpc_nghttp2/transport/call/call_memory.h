/// What one call holds beside its messages.
#pragma once

#include <cstdint>
#include <utility>

#include "frontends/grpc_nghttp2/transport/session/session_limits.h"

namespace atl::frontends::grpc_nghttp2 {

/// The call's part of what the limits of its session count. Everything is given back by clear(). Not thread safe.
class CallMemory {
 public:
  /// What a call takes beside its headers and messages: its stream, nghttp2's part and the places of its headers,
  /// about.
  static constexpr uint64_t kOwnBytes = uint64_t{2} << 10;

  /// The call holds so many bytes now, and no longer what it held before.
  /// Errors: RESOURCE_EXHAUSTED what it holds is too much for all requests together; it is held all the same.
  Status hold(SessionLimits& limits, uint64_t bytes) noexcept {
    const uint64_t before = std::exchange(bytes_, bytes);
    if (bytes > before) return limits.hold(bytes - before);
    limits.let_go(before - bytes);
    return {};
  }
  uint64_t bytes() const noexcept { return bytes_; }
  /// The same for metadata, as they take far more than they are sent as. \returns whether all calls of the
  /// connection do not hold too much of it
  bool hold_metadata(SessionLimits& limits, uint64_t bytes) noexcept {
    const uint64_t before = std::exchange(metadata_bytes_, bytes);
    return limits.hold_metadata(static_cast<int64_t>(bytes) - static_cast<int64_t>(before));
  }
  void clear(SessionLimits& limits) noexcept {
    if (metadata_bytes_ != 0) hold_metadata(limits, 0);
    if (bytes_ != 0) (void)hold(limits, 0);
  }

 private:
  uint64_t bytes_ = 0;
  uint64_t metadata_bytes_ = 0;
};

}  // namespace atl::frontends::grpc_nghttp2
