/// A message that goes on as it came.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "frontends/grpc_nghttp2/transport/message.h"
#include "frontends/grpc_nghttp2/transport/outgoing_message.h"

namespace atl::frontends::grpc_nghttp2 {

/// Owns itself, and the memory that the message came in, until it is sent or dropped. [loop]
class ForwardedMessage final : public OutgoingMessage {
 public:
  /// \param sent  told of that; may be empty
  explicit ForwardedMessage(Message message, std::function<void()> sent = {})
      : message_(std::move(message)), sent_(std::move(sent)) {
    if (begin(0) == nullptr) throw std::bad_alloc();
    add(message_.bytes);
    end();
  }
  virtual ~ForwardedMessage() = default;

 private:
  void on_sent() noexcept override {
    const std::unique_ptr<ForwardedMessage> self(this);
    if (sent_) sent_();
  }

  const Message message_;
  const std::function<void()> sent_;
};

}  // namespace atl::frontends::grpc_nghttp2
