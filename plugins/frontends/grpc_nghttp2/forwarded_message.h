/// A message that goes on as it came.
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "frontends/grpc_nghttp2/transport/message.h"
#include "frontends/grpc_nghttp2/transport/outgoing_message.h"

namespace atl::frontends::grpc_nghttp2 {

/// Who waits for it to leave. [loop]
class ForwardListener {
 public:
  /// It is sent or dropped.
  virtual void on_forwarded() noexcept = 0;

 protected:
  ~ForwardListener() = default;
};

/// Given away it owns itself, and the memory that the message came in, until it is sent or dropped. [loop]
class ForwardedMessage final : public OutgoingMessage {
 public:
  /// \param listener  may be null
  /// \returns null: there is no memory for what goes round the message, which is gone; nobody is told
  static std::unique_ptr<ForwardedMessage> make(
      Message message, std::shared_ptr<ForwardListener> listener = nullptr) noexcept {
    try {
      std::unique_ptr<ForwardedMessage> made(new ForwardedMessage(std::move(message), std::move(listener)));
      if (made->begin(0) == nullptr) return nullptr;
      made->add(made->message_.bytes);
      made->end();
      return made;
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  static Status no_memory() noexcept {
    return make_status(Code::kResourceExhausted, "no memory to pass the message on to the other server");
  }
  virtual ~ForwardedMessage() = default;

 private:
  ForwardedMessage(Message message, std::shared_ptr<ForwardListener> listener) noexcept
      : message_(std::move(message)), listener_(std::move(listener)) {}

  void on_sent() noexcept override {
    const std::unique_ptr<ForwardedMessage> self(this);
    if (listener_ != nullptr) listener_->on_forwarded();
  }

  const Message message_;
  const std::shared_ptr<ForwardListener> listener_;
};

/// Makes `to` what another server has sent. Its bytes stay where they are; few of them are copied instead, as they
/// may wait for long and would hold all that came with them.
/// Errors: RESOURCE_EXHAUSTED no memory.
inline Status forward_answer(Message* message, OutgoingMessage* to) noexcept {
  const std::span<const uint8_t> bytes = message->bytes;
  const bool is_copied = bytes.size() <= OutgoingMessage::kCopiedBytes;
  uint8_t* const head = to->begin(is_copied ? bytes.size() : 0);
  if (head == nullptr) return make_status(Code::kResourceExhausted, "no memory for the answer");
  if (is_copied && !bytes.empty()) std::memcpy(head, bytes.data(), bytes.size());
  to->add(is_copied ? std::span<const uint8_t>(head, bytes.size()) : bytes);
  to->end();
  if (is_copied) *message = {};
  return {};
}

}  // namespace atl::frontends::grpc_nghttp2
