/// One request that another server answers: it goes there and its answer comes back as they are.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "atoll/core/gate.h"
#include "atoll/pools/remote_models.h"
#include "frontends/common/call/body_buffer.h"
#include "frontends/common/call/request_charge.h"
#include "frontends/common/http/call.h"
#include "frontends/http/remote_connection.h"
#include "frontends/http/route_table.h"
#include "frontends/http/thread_context.h"

namespace atl::frontends::http {

/// Everything happens on the connection's thread. An answer whose length is known is sent when it is here whole; others
/// are sent as they come.
class PassOnCall final : public Call, private RemoteExchange {
 public:
  PassOnCall(ThreadContext& context, const Route& route, RemoteServer server);

  // --- Call ---
  void run(Channel& channel) noexcept override;
  void on_written() noexcept override;
  void on_gone() noexcept override;
  void on_stream_written(size_t bytes) noexcept override;

 private:
  virtual ~PassOnCall();

  /// Errors: there is no reason to ask the other server.
  Status check() noexcept;
  void write_head();
  void answer_error(const Status& status) noexcept;
  void end_if_over() noexcept;
  // --- RemoteExchange ---
  void on_reply_head(const RemoteReplyHead& head) noexcept override;
  bool on_reply_body(std::string_view bytes) noexcept override;
  void on_reply_end(bool reusable) noexcept override;
  void on_reply_failure(std::string_view reason) noexcept override;

  ThreadContext& context_;
  Pass pass_;
  RequestCharge charge_;  ///< ends before the pass
  const Route route_;     ///< its views are valid while run() runs
  const RemoteServer server_;
  Channel* channel_ = nullptr;                    ///< null: the client has gone, or has all it will get
  std::shared_ptr<RemoteConnection> connection_;  ///< null: nothing is expected of the other server
  std::string model_;
  std::string request_head_;
  BodyBuffer body_;

  RemoteReplyHead reply_;
  BodyBuffer reply_body_;
  uint64_t waiting_bytes_ = 0;  ///< of a stream, for the client to read
  bool streams_ = false;
  bool is_inside_ = false;  ///< a call of the channel, which may end everything else
};

}  // namespace atl::frontends::http
