/// Something to be served by a worker.
#pragma once

#include <memory>
#include <string_view>

#include "frontends/grpc_nghttp2/transport/serving_thread.h"
#include "frontends/grpc_nghttp2/transport/testing/transport_fixture.h"

namespace atl::frontends::grpc_nghttp2 {

/// Echoes on the connection's thread.
class EchoFinder final : public MethodFinder, public Method {
 public:
  EchoFinder() { max_message_bytes = 1 << 20; }
  virtual ~EchoFinder() = default;
  Method* find(std::string_view) noexcept override { return this; }
  void begin(CallStream& stream, Message message) noexcept override {
    stream.answer(*TextMessage::make(text_of(message), &sent));
  }
  int sent = 0;
};

struct EchoApplication final : Application {
  std::unique_ptr<MethodFinder> make_methods(ServingThread&) override {
    return std::make_unique<EchoFinder>();
  }
};

}  // namespace atl::frontends::grpc_nghttp2
