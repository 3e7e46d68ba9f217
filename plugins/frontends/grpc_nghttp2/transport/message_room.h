/// Where a large message is received into.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace atl::frontends::grpc_nghttp2 {

/// Where the next bytes of a message go.
struct MessageRoom {
  std::span<uint8_t> space;  ///< of which there is memory; empty: they go the usual way
  uint64_t left = 0;         ///< bytes of the message that are to come

  void skip(size_t bytes) noexcept {
    space = space.subspan(std::min(bytes, space.size()));
    left -= std::min<uint64_t>(bytes, left);
  }
};

}  // namespace atl::frontends::grpc_nghttp2
