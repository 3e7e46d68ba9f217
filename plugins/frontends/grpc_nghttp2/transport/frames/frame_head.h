/// The heads of HTTP/2's frames (RFC 9113, 4.1).
#pragma once

#include <cstddef>
#include <cstdint>

namespace atl::frontends::grpc_nghttp2 {

inline constexpr size_t kFrameHeadBytes = 9;

/// Of the payload.
inline uint32_t frame_length(const uint8_t* head) noexcept {
  return uint32_t{head[0]} << 16 | uint32_t{head[1]} << 8 | head[2];
}

inline int32_t frame_stream(const uint8_t* head) noexcept {
  return static_cast<int32_t>(uint32_t{head[5] & 0x7Fu} << 24 | uint32_t{head[6]} << 16 |
                              uint32_t{head[7]} << 8 | head[8]);
}

inline void write_frame_length(size_t length, uint8_t* head) noexcept {
  for (int i = 0; i < 3; ++i) head[i] = static_cast<uint8_t>(length >> (8 * (2 - i)) & 0xFF);
}

inline void write_frame_head(size_t length, uint8_t type, uint8_t flags, int32_t stream,
                             uint8_t* head) noexcept {
  write_frame_length(length, head);
  head[3] = type;
  head[4] = flags;
  for (int i = 0; i < 4; ++i) head[5 + i] = static_cast<uint8_t>(stream >> (8 * (3 - i)) & 0xFF);
}

}  // namespace atl::frontends::grpc_nghttp2
