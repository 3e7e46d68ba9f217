#include "frontends/grpc_nghttp2/transport/session/flood_guard.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>

#include "atoll/core/clock.h"

namespace atl::frontends::grpc_nghttp2 {

FloodGuard::FloodGuard(uint32_t rate, uint64_t header_bytes, int64_t now_ns) noexcept
    : interval_ns_(kNsPerSecond / rate),
      burst_(kBurstSeconds * rate),
      most_header_bytes_(header_bytes),
      balance_(burst_),
      refilled_ns_(now_ns) {}

void FloodGuard::on_frame(const FrameHead& frame, size_t open_calls) noexcept {
  switch (frame.type) {
    case NGHTTP2_DATA:
      if (frame.length < kTinyBytes && (frame.flags & NGHTTP2_FLAG_END_STREAM) == 0) --balance_;
      return;
    case NGHTTP2_HEADERS:
      header_bytes_ = 0;
      [[fallthrough]];
    case NGHTTP2_CONTINUATION:
      header_bytes_ += frame.length;
      headers_too_large_ |= header_bytes_ > most_header_bytes_;
      break;
    case NGHTTP2_SETTINGS:
      // They may change every call's window.
      balance_ -= static_cast<int64_t>(open_calls);
      [[fallthrough]];
    default:
      control_too_large_ |= frame.length > kMostControlBytes;
      break;
  }
  --balance_;
}

void FloodGuard::refill(int64_t now_ns) noexcept {
  if (now_ns - refilled_ns_ < interval_ns_) return;
  const int64_t frames = (now_ns - refilled_ns_) / interval_ns_;
  refilled_ns_ += frames * interval_ns_;
  if (balance_ < burst_) balance_ = std::min(burst_, balance_ + frames);
}

std::optional<ClosedFor> FloodGuard::verdict(int64_t now_ns) noexcept {
  if (control_too_large_) return ClosedFor::kFrameSize;
  if (headers_too_large_) return ClosedFor::kMetadata;
  refill(now_ns);
  if (balance_ < 0) return ClosedFor::kOverheadFrames;
  return {};
}

}  // namespace atl::frontends::grpc_nghttp2
