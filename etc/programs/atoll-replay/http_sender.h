/// Sends over HTTP, with binary tensors.
#pragma once

#include "atoll/lib/http_client.h"
#include "atoll/runtime/system_clock.h"
#include "atoll/runtime/thread_executor.h"
#include "sender.h"

namespace atl::replay {

class HttpSender final : public Sender {
 public:
  explicit HttpSender(ReplayTarget address) : address_(std::move(address)) {}
  virtual ~HttpSender() { stop(); }

  Status connect() override;
  void send(recording::v1::Request request, const SendOptions& options, Done done) override;
  void stop() noexcept override { client_.stop(); }

 private:
  HttpRequest made(std::string path) const;

  const ReplayTarget address_;
  const runtime::SystemClock clock_;
  runtime::ThreadExecutorFactory executors_{clock_};
  HttpClient client_;
};

}  // namespace atl::replay
