/// Calls of another plugin's, which a provider in this process answers.
#pragma once

#include <atomic>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/frontend/grpc_calls.h"
#include "atoll/testing/followed_fake.h"
#include "frontends/common/grpc/testing/generic_client.h"

namespace atl::frontends::grpc_cases {

class Provider final : public GrpcCalls {
 public:
  virtual ~Provider() = default;
  Provider(std::initializer_list<GrpcMethod> methods) : methods_(methods) {}
  std::vector<GrpcMethod> methods() const noexcept override { return methods_; }
  void handle(std::string_view method, GrpcExchange& exchange) noexcept override { answer(method, exchange); }

  /// What it says to every call.
  std::function<void(std::string_view method, GrpcExchange& exchange)> answer = [](std::string_view method,
                                                                                   GrpcExchange& exchange) {
    exchange.answer(cat(method, " ", text_of(exchange)));
  };
  static std::string text_of(const GrpcExchange& exchange) {
    const auto message = exchange.message();
    return {reinterpret_cast<const char*>(message.data()), message.size()};
  }

 private:
  const std::vector<GrpcMethod> methods_;
};

/// Keeps an exchange that comes until the test ends it.
class HeldExchange {
 public:
  explicit HeldExchange(Provider& provider) {
    provider.answer = [this](std::string_view, GrpcExchange& exchange) { exchange_ = &exchange; };
  }
  /// The one that came, or the next one.
  GrpcExchange& wait() {
    GrpcExchange* found = nullptr;
    EXPECT_TRUE(eventually([&] { return (found = exchange_.exchange(nullptr)) != nullptr; }));
    return *found;
  }

 private:
  std::atomic<GrpcExchange*> exchange_{nullptr};
};

/// Ends its exchange where it hears that the client has gone.
class EndsWhenCancelled final : public CancelListener {
 public:
  explicit EndsWhenCancelled(GrpcExchange& exchange) {
    if (!exchange.cancellation().listen(this, &exchange)) on_cancel(&exchange);
  }
  virtual ~EndsWhenCancelled() = default;
  void on_cancel(void* exchange) noexcept override {
    static_cast<GrpcExchange*>(exchange)->end(make_status(Code::kCancelled, "gone"));
    ++ended_;
  }
  /// True as soon as it has.
  bool wait() const {
    return eventually([this] { return ended_ == 1; });
  }

 private:
  std::atomic<int> ended_{0};
};

class ContributedCallTest : public GrpcFrontendTest {
 protected:
  static constexpr const char* kMethod = "/x.Test/Call";

  /// Starts the frontend, with a call whose provider keeps it.
  struct HeldCall {
    explicit HeldCall(ContributedCallTest& test) : held(provider) {
      test.start();
      holders_before = test.host_.registry().holders();
      test.bring("other", provider);
      client.emplace(test.channel(), kMethod);
      client->send("");
      exchange = &held.wait();
    }

    Provider provider{{kMethod, "x.calls"}};
    HeldExchange held;
    size_t holders_before = 0;  ///< of services, without the provider
    std::optional<GenericClient> client;
    GrpcExchange* exchange = nullptr;
  };

  void bring(const std::string& instance, Provider& provider, int32_t rank = 0) {
    host_.registry().publish<GrpcCalls>(instance, provider, rank);
    test::publish_service_changed(host_, GrpcCalls::kInterfaceId, instance);
  }
  void take_away(const std::string& instance) {
    host_.registry().withdraw(std::string(GrpcCalls::kInterfaceId), instance);
    test::publish_service_changed(host_, GrpcCalls::kInterfaceId, instance);
  }
  /// The answer to a unary call, or the failure's code.
  std::string ask(const std::string& method, const std::string& message = "",
                  const GenericClient::Metadata& metadata = {}) {
    GenericClient client(channel(), method, metadata);
    client.send(message);
    const std::optional<std::string> answer = client.read();
    const grpc::Status status = client.finish();
    return status.ok() ? answer.value_or("nothing") : cat("code ", static_cast<int>(status.error_code()));
  }
  bool all_gone(size_t holders) {
    return eventually([&] { return calls() == 0 && host_.registry().holders() == holders; });
  }
};

}  // namespace atl::frontends::grpc_cases
