/// One request of a ModelStreamInfer call.
#pragma once

#include <memory>
#include <optional>

#include "frontends/common/call/post_list.h"
#include "frontends/common/grpc/v2_stream_request.h"
#include "frontends/grpc_nghttp2/call_thread.h"
#include "frontends/grpc_nghttp2/received_bytes.h"
#include "frontends/grpc_nghttp2/stream_answer.h"

namespace atl::frontends::grpc_nghttp2 {

/// Taken from its thread's pool and given back to it.
class StreamRequest final : public V2StreamRequest<StreamRequest, StreamMessage, ReceivedBytes>,
                            private Posted {
 public:
  static StreamRequest& start(CallThread& thread, Stream& stream, Message message, int64_t read_start_ns,
                              int64_t read_end_ns);

  explicit StreamRequest(CallThread& thread) : V2StreamRequest(thread.frontend), thread_(thread) {}
  ~StreamRequest() override = default;

 private:
  // --- Posted: goes on after a wait, or is over ---
  void on_posted() noexcept override;
  void rest() noexcept;

  // --- V2StreamRequest ---
  std::unique_ptr<V2RemoteStream> make_remote(const HostPort& server,
                                              RemoteStreamOwner<StreamMessage>& owner) noexcept override;
  void forward(V2RemoteStream& to) noexcept override;
  Status write_message(V2StreamMessage& from, StreamMessage* message) noexcept override;
  void to_own_thread() noexcept override { thread_.loop.post(*this); }
  void recycle() noexcept override;

  CallThread& thread_;
};

}  // namespace atl::frontends::grpc_nghttp2
