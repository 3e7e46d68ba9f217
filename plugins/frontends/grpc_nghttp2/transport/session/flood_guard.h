/// Bounds frames that cost work and bring nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "frontends/grpc_nghttp2/transport/frames/frame_scanner.h"
#include "frontends/grpc_nghttp2/transport/transport_counters.h"

namespace atl::frontends::grpc_nghttp2 {

/// One connection's account. A frame that brings neither a call nor data costs one; calls and messages that
/// come, and data that the client takes, give room for more, so what a client may make us do for nothing is in
/// proportion to what it uses us for. Beside that it has so many a second. Not thread safe.
class FloodGuard {
 public:
  /// Data frames from this size on, and the last one of a call, are free.
  static constexpr uint32_t kTinyBytes = 256;
  static constexpr int64_t kFramesOfCall = 20;
  static constexpr int64_t kFramesOfMessage = 4;
  static constexpr int64_t kFramesOfSentData = 10;
  /// The rate's frames of so many seconds may come at once.
  static constexpr int64_t kBurstSeconds = 10;
  /// No more is saved up by using the server.
  static constexpr int64_t kMostSaved = 100'000;
  /// Largest frame that is neither data nor part of a list of headers; the longest that clients send are SETTINGS
  /// and the text of GOAWAY.
  static constexpr uint32_t kMostControlBytes = 16u << 10;

  /// \param rate  frames a second for nothing \param header_bytes  of one list of headers, as it is encoded
  FloodGuard(uint32_t rate, uint64_t header_bytes, int64_t now_ns) noexcept;

  /// A call has come that is taken.
  void on_call() noexcept { earn(kFramesOfCall); }
  /// A message of a call is complete.
  void on_message() noexcept { earn(kFramesOfMessage); }
  /// A frame of data was sent. \param was_cut  so short because the client takes no more
  void on_sent_data(bool was_cut) noexcept {
    if (!was_cut) earn(kFramesOfSentData);
  }
  /// A frame has begun to come. \param open_calls  all of which the settings may concern
  void on_frame(const FrameHead& frame, size_t open_calls) noexcept;

  /// When all that came was told. Empty: it may go on; else why not.
  std::optional<ClosedFor> verdict(int64_t now_ns) noexcept;

 private:
  void earn(int64_t frames) noexcept {
    if (balance_ < kMostSaved) balance_ += frames;
  }
  void refill(int64_t now_ns) noexcept;

  const int64_t interval_ns_;
  const int64_t burst_;
  const uint64_t most_header_bytes_;
  int64_t balance_;
  int64_t refilled_ns_;
  uint64_t header_bytes_ = 0;
  bool control_too_large_ = false;
  bool headers_too_large_ = false;
};

}  // namespace atl::frontends::grpc_nghttp2
