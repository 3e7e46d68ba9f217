// A plugin with gRPC calls: answers at once, later from a thread of its own, and as a stream.
#include "atoll/core/plugin.h"

#include <charconv>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/frontend/grpc_calls.h"

namespace {

class CallsFixture final : public atl::Plugin, public atl::GrpcCalls, private atl::CancelListener {
 public:
  explicit CallsFixture(atl::Host& host) : host_(host), name_(host.options().get_string("name")) {}

  atl::Status start() override {
    atl::Result<atl::SerialExecutorPtr> thread = host_.executors().create("fixture", {});
    if (!thread.ok()) return std::move(thread).status();
    thread_ = std::move(thread).value();
    return {};
  }
  void drain(int64_t) override {
    post([this] { answer_held(); });
  }
  void stop() override { thread_.reset(); }

  // --- GrpcCalls ---
  std::vector<atl::GrpcMethod> methods() const noexcept override {
    return {{"/fixture.Calls/Hello", "metadata"},       {"/fixture.Calls/Echo", "fixture.echo"},
            {"/fixture.Calls/Later", "fixture.later"},  {"/fixture.Calls/Slow", "fixture.later"},
            {"/fixture.Calls/Held", "fixture.later"},   {"/fixture.Calls/Stream", "fixture.stream"},
            {"/fixture.Calls/Flood", "fixture.stream"}, {"/fixture.Calls/Closed", "fixture.closed"}};
  }
  void handle(std::string_view method, atl::GrpcExchange& exchange) noexcept override {
    method.remove_prefix(method.rfind('/') + 1);
    if (method == "Hello" || method == "Closed") {
      exchange.answer(name_);
    } else if (method == "Echo") {
      echo(exchange);
    } else if (method == "Later") {
      post([this, &exchange] { exchange.answer(atl::cat(name_, " later")); });
    } else if (method == "Slow") {
      const int64_t slow_ns = host_.options().get_duration_ns("slow");
      thread_->post_at(host_.clock().now_ns() + slow_ns,
                       atl::make_task([this, &exchange] { exchange.answer(atl::cat(name_, " slow")); }));
      host_.log().info("a slow call has begun");
    } else if (method == "Held") {
      hold(exchange);
    } else if (method == "Stream") {
      post([&exchange] { stream(exchange); });
    } else if (method == "Flood") {
      post([this, &exchange] { flood(exchange); });
    } else {
      exchange.end(atl::Status(atl::Code::kUnimplemented, ""));
    }
  }

 private:
  template <class Function>
  void post(Function function) {
    thread_->post(atl::make_task(std::move(function)));
  }

  static std::string_view text_of(const atl::GrpcExchange& exchange) {
    const auto message = exchange.message();
    return {reinterpret_cast<const char*>(message.data()), message.size()};
  }
  /// The metadata "prefix", and the message.
  static void echo(atl::GrpcExchange& exchange) {
    std::string_view prefix;
    exchange.head().find("prefix", {&prefix, 1});
    exchange.answer(atl::cat(prefix, text_of(exchange)));
  }
  /// As many messages as the request says, and then a failure if it says a negative number.
  static void stream(atl::GrpcExchange& exchange) {
    int count = 0;
    const std::string_view text = text_of(exchange);
    std::from_chars(text.data(), text.data() + text.size(), count);
    for (int i = 0; i < (count < 0 ? -count : count); ++i) (void)exchange.write(atl::cat("piece ", i)).ok();
    exchange.end(count < 0 ? atl::make_status(atl::Code::kAborted, "as asked") : atl::Status());
  }
  /// More than any client takes, unless the plugin drains.
  void flood(atl::GrpcExchange& exchange) {
    atl::Status status;
    while (status.ok() && !host_.gate().closed()) status = exchange.write(std::string(65536, 'x'));
    exchange.end({});
    host_.log().info("the flood ended: ", status.message());
  }
  void hold(atl::GrpcExchange& exchange) {
    std::lock_guard lock(mutex_);
    held_.push_back(&exchange);
    if (!exchange.cancellation().listen(this, &exchange)) on_cancel(&exchange);
    host_.log().info("a call is held");
  }
  void answer_held() {
    std::vector<atl::GrpcExchange*> held;
    {
      std::lock_guard lock(mutex_);
      held.swap(held_);
    }
    for (atl::GrpcExchange* exchange : held) {
      exchange->cancellation().stop_listening();
      exchange->answer(atl::cat(name_, " drained"));
    }
  }
  void on_cancel(void* exchange) noexcept override {
    post([this, gone = static_cast<atl::GrpcExchange*>(exchange)] {
      {
        std::lock_guard lock(mutex_);
        if (std::erase(held_, gone) == 0) return;
      }
      gone->cancellation().stop_listening();
      gone->end(atl::make_status(atl::Code::kCancelled, "the client has gone"));
      host_.log().info("the client of a held call has gone");
    });
  }

  atl::Host& host_;
  const std::string name_;
  std::mutex mutex_;
  std::vector<atl::GrpcExchange*> held_;
  atl::SerialExecutorPtr thread_;
};

constexpr atl::OptionTable kOptions{
    atl::option_string("name", "first").help("What answers begin with."),
    atl::option_duration("slow", "2s").help("How long slow answers take."),
};

}  // namespace

ATOLL_PLUGIN(CallsFixture, {.name = "tests/grpc_calls",
                            .version = "1.0.0",
                            .license = "Apache-2.0",
                            .help = "Calls for tests.",
                            .provides = {atl::provide<atl::GrpcCalls>()},
                            .options = kOptions});
