/// One gRPC message that came.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "frontends/common/call/body_buffer.h"
#include "frontends/common/call/request_charge.h"
#include "frontends/grpc_nghttp2/transport/frames/receive_buffer.h"

namespace atl::frontends::grpc_nghttp2 {

/// Its bytes, in the memory that the socket was read into or in a buffer of their own, and what keeps them
/// there. Of the thread of its connection.
struct Message {
  std::span<const uint8_t> bytes;
  bool compressed = false;  ///< as its flag says
  Status refused;           ///< why only its first bytes are here; OK: all are
  ChunkRef chunk;           ///< null: the bytes are in `buffer`, or there are none
  BodyBuffer buffer;
  RequestCharge charge;  ///< for `buffer`, if that is not small
};

}  // namespace atl::frontends::grpc_nghttp2
