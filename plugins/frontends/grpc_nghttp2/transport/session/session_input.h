/// What a client sends on one session, on its way through nghttp2 to its calls.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "frontends/grpc_nghttp2/transport/frames/frame_scanner.h"
#include "frontends/grpc_nghttp2/transport/frames/receive_buffer.h"
#include "frontends/grpc_nghttp2/transport/frames/repeated_headers.h"

namespace atl::frontends::grpc_nghttp2 {

class CallStream;
class Session;

/// Part of its session. What is too much by the session's limits ends the session.
class SessionInput {
 public:
  /// \param session  has this
  explicit SessionInput(Session& session) noexcept : session_(session) {}
  SessionInput(const SessionInput&) = delete;
  SessionInput& operator=(const SessionInput&) = delete;

  /// Gives nghttp2 what came. \param bytes  within the chunk
  /// \returns how much was taken: less than all if what was answered is to be written first; negative: an error of
  /// nghttp2's
  ssize_t receive(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept;
  /// So much of it was taken: its frames are shown to the session's guard.
  void pass(std::span<const uint8_t> bytes) noexcept;
  /// Session::receive() is to be called again with the same chunk, perhaps without bytes, when what was answered is
  /// written.
  bool is_paused() const noexcept { return paused_; }

  /// A list of headers, or a frame that is no data, has begun that may be long in coming, or no frame has come yet.
  bool awaits_headers() const noexcept {
    return !has_settings_ || inside_headers_ ||
           (scanner_.is_inside() && scanner_.last().type != NGHTTP2_DATA);
  }
  /// Changes when what awaits_headers() tells of is another frame than before.
  uint32_t awaited_frame() const noexcept { return frames_; }
  /// The stream whose headers are larger than nghttp2 takes; 0: none. Told once.
  int32_t take_large_headers() noexcept;

  // --- calls ---
  void count_begun() noexcept { ++begun_; }
  /// While receive() runs: the connection's window may move on.
  void count_consumed(size_t bytes) noexcept { consumed_ += bytes; }

  // --- what nghttp2 has read; as its callbacks return ---
  int on_begin_headers(const nghttp2_frame& frame);
  int on_header(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  int on_ignored_header(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  int on_invalid_frame();
  int on_frame(const nghttp2_frame& frame);
  int on_data(int32_t id, std::span<const uint8_t> bytes);

 private:
  enum class Reading : uint8_t { kPlain, kStable, kRepeated };
  /// Data that were there when it paused.
  struct PutOff {
    int32_t id = 0;
    std::span<const uint8_t> bytes;
  };

  /// \returns as receive()
  ssize_t give(std::span<const uint8_t> bytes) noexcept;
  /// The same for bytes of which so many were given, up to the end. False: it has stopped there; *given is negative
  /// if that was an error.
  bool give_until(size_t end, std::span<const uint8_t> bytes, ssize_t* given) noexcept;
  /// The same for a frame with the headers that are known.
  ssize_t give_repeated(std::span<const uint8_t> frame) noexcept;
  int on_request(const nghttp2_frame& frame);
  int refuse_call(CallStream& stream);
  int on_reset(const nghttp2_frame& frame);

  Session& session_;
  ChunkRef chunk_;  ///< of what is being received
  FrameScanner scanner_;
  uint32_t frames_ = 0;                ///< that came, those aside that go on with a list of headers
  Reading reading_ = Reading::kPlain;  ///< headers, see RepeatedHeaders
  RepeatedHeaders repeated_;
  uint64_t consumed_ = 0;      ///< data that nghttp2 has not heard of
  uint32_t begun_ = 0;         ///< calls since receive() began
  int32_t large_headers_ = 0;  ///< the stream whose headers are larger than nghttp2 takes; 0: none
  bool has_settings_ = false;
  bool inside_headers_ = false;
  bool paused_ = false;
  PutOff put_off_;
};

}  // namespace atl::frontends::grpc_nghttp2
