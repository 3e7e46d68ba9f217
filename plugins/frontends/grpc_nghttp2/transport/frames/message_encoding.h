#pragma once

#include <cstdint>

namespace atl::frontends::grpc_nghttp2 {

/// How messages are compressed; bits, for sets of them.
enum class MessageEncoding : uint32_t { kIdentity = 1, kDeflate = 2, kGzip = 4 };

}  // namespace atl::frontends::grpc_nghttp2
