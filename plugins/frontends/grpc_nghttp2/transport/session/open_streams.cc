#include "frontends/grpc_nghttp2/transport/session/open_streams.h"

#include <utility>

namespace atl::frontends::grpc_nghttp2 {

CallStream* StreamPool::take() {
  if (kept_.empty()) return new CallStream;
  CallStream* stream = kept_.back().release();
  kept_.pop_back();
  return stream;
}

void StreamPool::give(CallStream* stream) noexcept {
  std::unique_ptr<CallStream> owned(stream);
  if (kept_.size() < kMostKept) kept_.push_back(std::move(owned));
}

CallStream& OpenStreams::open(Session& session, int32_t id) {
  CallStream* stream = context_.streams.take();
  stream->start(session, id);
  found_ = stream;
  context_.counters.call_begins();
  streams_.push_back(*stream);
  nghttp2_session_set_stream_user_data(raw_, id, stream);
  return *stream;
}

void OpenStreams::close(int32_t id) noexcept {
  CallStream* stream = find(id);
  if (stream == nullptr) return;
  found_ = nullptr;
  nghttp2_session_set_stream_user_data(raw_, id, nullptr);
  streams_.erase(streams_.iterator_to(*stream));
  end(*stream);
}

void OpenStreams::close_all() noexcept {
  while (!streams_.empty()) {
    CallStream& stream = streams_.front();
    streams_.pop_front();
    end(stream);
  }
}

void OpenStreams::end(CallStream& stream) noexcept {
  stream.on_closed();
  context_.counters.call_ends();
  context_.streams.give(&stream);
}

}  // namespace atl::frontends::grpc_nghttp2
