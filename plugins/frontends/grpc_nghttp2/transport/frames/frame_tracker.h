/// Foretells the DATA frames that a client is about to send.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "frontends/grpc_nghttp2/transport/frames/frame_head.h"
#include "frontends/grpc_nghttp2/transport/frames/length_scanner.h"

namespace atl::frontends::grpc_nghttp2 {

/// Where a connection's bytes are among its frames. Clients send a large message as frames of the same size,
/// those of one call one after the other or those of several calls by turns: so it is remembered whose frame
/// followed that of a call, and how long it was. Not thread safe.
class FrameTracker {
 public:
  static constexpr size_t kHeadBytes = kFrameHeadBytes;
  using Head = std::array<uint8_t, kHeadBytes>;
  /// Data of a stream.
  struct Data {
    int32_t stream = 0;  ///< 0: none
    uint32_t bytes = 0;
  };

  /// Bytes came, and were taken.
  void pass(std::span<const uint8_t> bytes) noexcept;
  /// What is still to come of the present frame, if that has data.
  Data rest() const noexcept { return is_data_ ? Data{last_, heads_.left()} : Data{}; }
  /// A place in the next bytes.
  struct Place {
    int32_t stream = 0;
    size_t begin = 0;
  };
  /// Where so many streams have been ended by data; begin 0: not before the last byte, or that cannot be told.
  size_t streams_end(size_t count, std::span<const uint8_t> bytes) const noexcept;
  /// The first data; stream 0: there are none.
  Place first_data(std::span<const uint8_t> bytes) const noexcept;
  /// The next byte begins a frame.
  bool at_head() const noexcept { return !heads_.is_inside(); }
  /// The stream of the last frame with data; 0: none came.
  int32_t last_stream() const noexcept { return last_; }
  /// The frame that may follow one of that stream.
  Data after(int32_t stream) const noexcept;
  /// Whether the head is that of such a frame, which may be the stream's last one.
  static bool is_of(const Head& head, Data data) noexcept;

 private:
  static constexpr uint32_t kPrefaceBytes = 24;
  struct Sender {
    int32_t stream = 0;
    int32_t next = 0;    ///< whose frame came after this one's
    uint32_t bytes = 0;  ///< of its last frame
  };

  void begin_frame(std::span<const uint8_t, kHeadBytes> head, uint32_t length) noexcept;
  Sender& sender(int32_t stream) noexcept;
  const Sender* find(int32_t stream) const noexcept;

  LengthScanner<kHeadBytes, 0, 3> heads_{kPrefaceBytes};
  bool is_data_ = false;  ///< the present frame, and of its message: there is no padding
  int32_t last_ = 0;
  std::array<Sender, 8> senders_{};
  size_t oldest_ = 0;
};

}  // namespace atl::frontends::grpc_nghttp2
