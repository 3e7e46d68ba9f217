/// One stream of questions about the services.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "frontends/common/grpc/reflection.h"
#include "frontends/grpc_nghttp2/call_access.h"
#include "frontends/grpc_nghttp2/compressible_message.h"
#include "frontends/grpc_nghttp2/step.h"
#include "frontends/grpc_nghttp2/transport/call_stream.h"

namespace atl::frontends::grpc_nghttp2 {

/// Owns itself. Questions are answered one after the other: the next one is read when the client has its answer.
/// [loop]
class ReflectionCall final : public Call {
 public:
  /// \param path  of the method
  static void begin(std::string_view path, CallThread& thread, CallStream& stream) noexcept;

  // --- Call ---
  void on_message(Message message) noexcept override;
  void on_half_close() noexcept override { finish({}); }
  void on_gone() noexcept override;

 private:
  class Answer final : public TextMessage {
   public:
    Answer(ReflectionCall& call, std::string content, RequestCharge charge)
        : TextMessage(std::move(content), MessageEncoding::kIdentity),
          call_(call),
          charge_(std::move(charge)) {}
    virtual ~Answer() = default;

   private:
    void on_sent() noexcept override;
    ReflectionCall& call_;
    const RequestCharge charge_;
  };

  ReflectionCall(CallThread& thread, CallStream& stream)
      : reflection_(*thread.frontend.reflection),
        thread_(thread),
        stream_(&stream),
        ticket_(stream.take_ticket()) {}
  ~ReflectionCall() = default;

  void on_settled();
  void on_sent() noexcept;
  Result<std::string> answer(Message message, RequestCharge* charge) noexcept;
  void finish(const Status& status) noexcept;
  void free_if_over() noexcept;

  const Reflection& reflection_;
  CallThread& thread_;
  Step<ReflectionCall> settled_{*this, &ReflectionCall::on_settled};
  CallStream* stream_;  ///< null: the client has gone, or has its end
  CallTicket ticket_;
  CallAccess access_;
  bool is_asking_ = true;  ///< whether the call may be made
  bool is_sending_ = false;
};

}  // namespace atl::frontends::grpc_nghttp2
