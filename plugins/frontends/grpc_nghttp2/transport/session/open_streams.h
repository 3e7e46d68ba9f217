/// The calls that a session has open, and streams that wait to be used again.
#pragma once

#include <nghttp2/nghttp2.h>

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frontends/grpc_nghttp2/transport/call_stream.h"

namespace atl::frontends::grpc_nghttp2 {

/// Streams that wait to be used again. Of one thread.
class StreamPool {
 public:
  CallStream* take();
  void give(CallStream* stream) noexcept;

 private:
  static constexpr size_t kMostKept = 256;
  std::vector<std::unique_ptr<CallStream>> kept_;
};

/// One session's. Finds a call's stream through nghttp2, which has it beside its own. Not thread safe.
class OpenStreams {
 public:
  explicit OpenStreams(SessionContext& context) noexcept : context_(context) {}
  OpenStreams(const OpenStreams&) = delete;
  OpenStreams& operator=(const OpenStreams&) = delete;

  /// Before all else. \param raw  outlives the streams
  void start(nghttp2_session* raw) noexcept { raw_ = raw; }
  size_t size() const noexcept { return streams_.size(); }
  bool empty() const noexcept { return streams_.empty(); }

  /// A client has begun one.
  CallStream& open(Session& session, int32_t id);
  /// Null: there is none, or none any more.
  CallStream* find(int32_t id) noexcept {
    if (found_ == nullptr || found_->id() != id) {
      found_ = static_cast<CallStream*>(nghttp2_session_get_stream_user_data(raw_, id));
    }
    return found_;
  }
  void close(int32_t id) noexcept;
  /// nghttp2 is gone already.
  void close_all() noexcept;

  /// Where the next data of a stream's message go, if it is large. Bytes that lie there already when
  /// Session::receive() is given them are not copied.
  MessageRoom message_room(int32_t id) noexcept {
    CallStream* const found = find(id);
    return found == nullptr ? MessageRoom() : found->incoming().message_room();
  }
  /// Where so many messages have ended in the next data of a stream that has several; 0: not before the last byte.
  size_t messages_end(int32_t id, size_t count, std::span<const uint8_t> data) noexcept {
    CallStream* const found = id == 0 ? nullptr : find(id);
    return found == nullptr ? 0 : found->incoming().messages_end(count, data);
  }
  /// Calls whose message, or the taking of whose answer, makes no progress are ended. To be called again and
  /// again, after the same time each. \param most  calls of this without progress that a call survives
  void end_stalled(uint32_t most) noexcept {
    for (CallStream& stream : streams_) stream.end_if_stalled(most);
  }

 private:
  void end(CallStream& stream) noexcept;

  SessionContext& context_;
  nghttp2_session* raw_ = nullptr;
  boost::intrusive::list<CallStream> streams_;
  CallStream* found_ = nullptr;  ///< by find() at last; null: nothing is known
};

}  // namespace atl::frontends::grpc_nghttp2
