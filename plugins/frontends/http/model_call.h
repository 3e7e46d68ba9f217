/// What calls that run a model have in common: the way from the connection to the model.
#pragma once

#include <utility>

#include "atoll/core/gate.h"
#include "frontends/common/call/body_buffer.h"
#include "frontends/common/call/call_path.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/http/call.h"
#include "frontends/common/json/json_output.h"
#include "frontends/http/call_support.h"
#include "frontends/http/codec/reply_form.h"
#include "frontends/http/load_report.h"
#include "frontends/http/route_table.h"
#include "frontends/http/thread_context.h"

namespace atl::frontends::http {

class ModelCall : public Call, public Posted, protected CallSteps, protected ResponseReceiver {
 public:
  void run(Channel& channel) noexcept final {
    channel_ = &channel;
    infer_.begin(kExchangePart | kAnswerPart);
    pass_ = context_.frontend.calls.enter();
    if (!pass_) {
      path_.refuse(unavailable(frontends::messages::kServerExiting));
      return;
    }
    load_format_ = load_format_of(channel.head().load_format);
    body_ = channel.take_body();
    infer_.memory = channel.take_charge();
    find_model(infer_.memory.cover(InferContext::kRequestBytes + body_.size()));
  }

 protected:
  /// \param limit  of what is copied out of shared memory
  ModelCall(ThreadContext& context, const Route& route, CopyLimit limit) : context_(context), route_(route) {
    const ServerAccess& server = context.frontend.server;
    infer_.regions.set_source(*server.shared_memory, limit, server.device_memory.get());
    infer_.memory.set_source(*server.request_memory, Code::kUnavailable);
    parts_.owned.set_charge(infer_.memory);
  }
  virtual ~ModelCall() = default;

  // --- CallSteps ---
  bool find_model(Status charged) noexcept final {
    const HttpContext& frontend = context_.frontend;
    const Identity* const caller = identity_of(channel_->head().identity);
    if (caller != nullptr) infer_.regions.set_owner(owner_of(caller));
    if (charged.ok() && !may_use(caller, ApiCategory::kInference, route_.model))
      return path_.refuse_hidden(route_.model, hidden_version(route_));
    return path_.find({*frontend.server.router, *frontend.server.catalog, frontend.host.registry()},
                      route_.model,
                      charged.ok() ? route_version(frontend.server, route_) : std::move(charged));
  }
  Status read_head() noexcept override {
    if (channel_ == nullptr) return Status(Code::kCancelled, {});  // the head has gone with the client
    const ModelInfo& info = infer_.model->info();
    ATOLL_RETURN_IF_ERROR(http::read_head(context_.frontend, channel_->head(), info, infer_.request));
    infer_.trace("HTTP_RECV_START", channel_->received_first_ns());
    infer_.trace("HTTP_RECV_END", channel_->received_last_ns());
    return {};
  }
  void about_to_wait() noexcept final { channel_->keep_head(); }
  void to_own_thread() noexcept final { context_.post(*this); }
  /// What the answer's head has beside, if its client asked for it. Of the connection's thread.
  std::string_view load_lines() {
    if (load_format_ == LoadFormat::kNone) return {};
    load_line_ = load_line(load_format_, context_.frontend.server.catalog->requests_now());
    return load_line_;
  }

  ThreadContext& context_;
  InferContext infer_{*this};
  CallPath path_{infer_, *this};
  Pass pass_;

  // Of the connection's thread.
  Channel* channel_ = nullptr;  ///< null: the client has gone, or has all it will get
  Route route_;                 ///< valid while run() runs or the request waits, as is the head
  BodyBuffer body_;
  LoadFormat load_format_ = LoadFormat::kNone;
  std::string load_line_;  ///< while the answer is sent

  // Of the thread that reads the request, then of the one that brings responses.
  InferParts parts_;
  JsonOutput json_;
};

}  // namespace atl::frontends::http
