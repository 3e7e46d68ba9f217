/// A call to a GrpcCalls without a connection or a frontend, and what its client gets.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/frontend/grpc_calls.h"
#include "atoll/testing/call_head.h"
#include "atoll/testing/fake_exchange.h"

namespace atl::test {

struct FakeGrpcRequest {
  std::string message{};
  TestCallHead::Headers metadata{};  ///< names in lower case
  std::string caller{};
  const Identity* identity = nullptr;  ///< outlives the exchange
};

struct ReceivedGrpcAnswer {
  std::vector<std::string> messages;  ///< the first ones, up to kKeptBytes
  Code code = Code::kOk;              ///< once the call has ended
  std::string text;                   ///< of a failure
};

/// One call. Give it to a provider with send_to(), and look at what came back. Problems are a second end, and
/// anything after the end. The metadata, the caller and the message are freed with the end, and the method with
/// handle(), so that a sanitizer sees who reads them later.
class FakeGrpcExchange final : public FakeExchange<GrpcExchange> {
 public:
  explicit FakeGrpcExchange(FakeGrpcRequest request)
      : FakeExchange(kMessageOverheadBytes),
        sent_(
            std::make_unique<Sent>(Sent{TestCallHead(std::move(request.metadata)), std::move(request.message),
                                        std::move(request.caller), request.identity})) {}
  virtual ~FakeGrpcExchange() = default;

  /// The call, on this thread.
  void send_to(GrpcCalls& provider, std::string_view method) {
    const std::vector<char> path(method.begin(), method.end());
    provider.handle({path.data(), path.size()}, *this);
  }
  ReceivedGrpcAnswer received() const {
    std::lock_guard lock(mutex_);
    return received_;
  }

  // --- GrpcExchange ---
  const CallHead& head() const noexcept override {
    std::lock_guard lock(mutex_);
    return may_touch("head") ? sent_->head : nothing_;
  }
  std::string_view caller() const noexcept override {
    std::lock_guard lock(mutex_);
    return may_touch("caller") ? std::string_view(sent_->caller) : std::string_view();
  }
  const Identity* identity() const noexcept override {
    std::lock_guard lock(mutex_);
    return may_touch("identity") ? sent_->identity : nullptr;
  }
  std::span<const std::byte> message() const noexcept override {
    std::lock_guard lock(mutex_);
    if (!may_touch("message")) return {};
    return std::as_bytes(std::span<const char>(sent_->message));
  }
  void answer(std::string message) noexcept override {
    std::lock_guard lock(mutex_);
    if (!may_touch("answer")) return;
    keep(std::move(message));
    end_here();
  }
  void end(Status status) noexcept override {
    std::lock_guard lock(mutex_);
    if (!may_touch("end")) return;
    received_.code = status.code();
    received_.text = status.text();
    end_here();
  }

 private:
  struct Sent {
    TestCallHead head;
    std::string message;
    std::string caller;
    const Identity* identity;
  };
  static constexpr uint64_t kMessageOverheadBytes = 256;  ///< as the interface says

  void keep(std::string message) override {
    set_begun();
    kept_bytes_ += message.size() + kMessageOverheadBytes;
    if (kept_bytes_ <= kKeptBytes) received_.messages.push_back(std::move(message));
  }
  void end_here() {
    sent_.reset();
    set_ended();
  }

  const TestCallHead nothing_{{}};
  // --- under mutex_ ---
  std::unique_ptr<Sent> sent_;  ///< null: the call has ended
  uint64_t kept_bytes_ = 0;
  ReceivedGrpcAnswer received_;
};

}  // namespace atl::test
