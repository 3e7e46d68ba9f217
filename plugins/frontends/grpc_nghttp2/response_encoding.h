/// How a call's answers are compressed.
#pragma once

#include "frontends/common/grpc/settings.h"
#include "frontends/grpc_nghttp2/transport/call_stream.h"

namespace atl::frontends::grpc_nghttp2 {

/// As the gRPC library maps levels to encodings: of those that the client accepts, in the order gzip, deflate, the
/// first for low, the middle one for medium, the last for high.
inline MessageEncoding response_encoding(CompressionLevel level, const CallStream& stream) noexcept {
  const bool gzip = stream.headers().accepts(MessageEncoding::kGzip);
  const bool deflate = stream.headers().accepts(MessageEncoding::kDeflate);
  if (level == CompressionLevel::kNone || (!gzip && !deflate)) return MessageEncoding::kIdentity;
  if (level == CompressionLevel::kLow || !deflate)
    return gzip ? MessageEncoding::kGzip : MessageEncoding::kDeflate;
  return MessageEncoding::kDeflate;
}

}  // namespace atl::frontends::grpc_nghttp2
