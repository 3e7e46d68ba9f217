/// What the headers of a call say, but for its method.
#pragma once

#include <cstdint>

#include "frontends/grpc_nghttp2/transport/frames/header_list.h"
#include "frontends/grpc_nghttp2/transport/frames/message_encoding.h"

namespace atl::frontends::grpc_nghttp2 {

/// Copies keep the memory that they have.
struct CallHeaders {
  HeaderList metadata;
  uint64_t list_bytes = 0;
  uint32_t list_count = 0;
  bool is_post = false;
  bool has_te = false;
  bool has_encoding = false;
  MessageEncoding encoding = MessageEncoding::kIdentity;
  uint32_t accepted = static_cast<uint32_t>(MessageEncoding::kIdentity);  ///< encodings
  int64_t timeout_ns = -1;                                                ///< -1: none

  /// Whether the client reads messages of this encoding.
  bool accepts(MessageEncoding one) const noexcept { return (accepted & static_cast<uint32_t>(one)) != 0; }
  void clear() noexcept {
    metadata.clear();
    list_bytes = 0;
    list_count = 0;
    is_post = has_te = has_encoding = false;
    encoding = MessageEncoding::kIdentity;
    accepted = static_cast<uint32_t>(MessageEncoding::kIdentity);
    timeout_ns = -1;
  }
};

}  // namespace atl::frontends::grpc_nghttp2
