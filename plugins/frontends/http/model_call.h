/// What calls that run a model have in common: the way from the connection to the model.
#pragma once

#include <utility>

#include "atoll/core/gate.h"
#include "frontends/common/call/body_buffer.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/http/call.h"
#include "frontends/http/call_support.h"
#include "frontends/http/route_table.h"
#include "frontends/http/thread_context.h"

namespace atl::frontends::http {

/// \tparam Context  an InferContext
template <class Context>
class ModelCall : public Context, public Call, public Posted {
 public:
  void run(Channel& channel) noexcept final {
    channel_ = &channel;
    this->begin(kExchangePart | kAnswerPart);
    HttpContext& frontend = context_.frontend;
    pass_ = frontend.calls.enter();
    if (!pass_) {
      this->refuse_call(unavailable(frontends::messages::kServerExiting));
      return;
    }
    body_ = channel.take_body();
    this->memory = channel.take_charge();
    Status charged = this->charge_all(Context::kRequestBytes + body_.size());
    this->begin_call({*frontend.server.router, *frontend.server.catalog, frontend.host.registry()},
                     route_.model,
                     charged.ok() ? route_version(frontend.server, route_) : std::move(charged));
  }

 protected:
  ModelCall(ThreadContext& context, const Route& route) : context_(context), route_(route) {
    this->memory.set_source(*context.frontend.server.request_memory, Code::kUnavailable);
  }
  ~ModelCall() override = default;

  Status read_head() noexcept override {
    if (channel_ == nullptr) return Status(Code::kCancelled, {});  // the head has gone with the client
    const ModelInfo& info = this->model->info();
    ATOLL_RETURN_IF_ERROR(http::read_head(context_.frontend, channel_->head(), info, this->request));
    this->trace("HTTP_RECV_START", channel_->received_first_ns());
    this->trace("HTTP_RECV_END", channel_->received_last_ns());
    return {};
  }
  void about_to_wait() noexcept final { channel_->keep_head(); }
  void to_own_thread() noexcept final { context_.post(*this); }

  ThreadContext& context_;
  Pass pass_;

  // Of the connection's thread.
  Channel* channel_ = nullptr;  ///< null: the client has gone, or has all it will get
  Route route_;                 ///< valid while run() runs or the request waits, as is the head
  BodyBuffer body_;
};

}  // namespace atl::frontends::http
