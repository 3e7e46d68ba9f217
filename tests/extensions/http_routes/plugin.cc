// A plugin with HTTP routes: answers at once, later from a thread of its own, and in pieces.
#include "atoll/core/plugin.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/frontend/http_routes.h"

namespace {

class RoutesFixture final : public atl::Plugin, public atl::HttpRoutes, private atl::CancelListener {
 public:
  explicit RoutesFixture(atl::Host& host)
      : host_(host), name_(host.options().get_string("name")), prefix_(host.options().get_string("prefix")) {}

  atl::Status start() override {
    atl::Result<atl::SerialExecutorPtr> thread = host_.executors().create("fixture", {});
    if (!thread.ok()) return std::move(thread).status();
    thread_ = std::move(thread).value();
    return {};
  }
  void drain(int64_t) override {
    post([this] { answer_held("drained"); });
  }
  void stop() override { thread_.reset(); }

  // --- HttpRoutes ---
  std::vector<atl::HttpRoute> routes() const noexcept override {
    using namespace atl;
    return {{prefix_ + "/hello", kHttpGet, "metadata"},
            {prefix_ + "/echo", kHttpPost, "fixture.echo"},
            {prefix_ + "/later", kHttpGet, "fixture.later"},
            {prefix_ + "/slow", kHttpGet, "fixture.later"},
            {prefix_ + "/held", kHttpGet, "fixture.later"},
            {prefix_ + "/release", kHttpPost, "fixture.later"},
            {prefix_ + "/stream", kHttpGet, "fixture.stream"},
            {prefix_ + "/flood", kHttpGet, "fixture.stream"},
            {prefix_ + "/closed", kHttpGet, "fixture.closed"},
            {prefix_ + "/files/*", kHttpGet | kHttpHead | kHttpDelete, "fixture.files"}};
  }
  void handle(std::string_view route, atl::HttpExchange& exchange) noexcept override {
    route.remove_prefix(std::min(route.size(), prefix_.size()));
    if (route == "/hello" || route == "/closed") {
      exchange.answer(kText, atl::cat(name_, " ", exchange.query()));
    } else if (route == "/echo") {
      echo(exchange);
    } else if (route == "/later") {
      post([this, &exchange] { exchange.answer(kText, atl::cat(name_, " later")); });
    } else if (route == "/slow") {
      const int64_t slow_ns = host_.options().get_duration_ns("slow");
      thread_->post_at(host_.clock().now_ns() + slow_ns, atl::make_task([this, &exchange] {
                         exchange.answer(kText, atl::cat(name_, " slow"));
                       }));
      host_.log().info("a slow request has begun");
    } else if (route == "/stream") {
      stream(exchange);
    } else if (route == "/flood") {
      post([this, &exchange] { flood(exchange); });
    } else if (route == "/held") {
      hold(exchange);
    } else if (route == "/release") {
      post([this, &exchange] {
        answer_held("released");
        exchange.answer(kText, "done");
      });
    } else if (route == "/files/*") {
      exchange.answer(kText, atl::cat(exchange.method(), " ", exchange.path()));
    } else {
      exchange.answer({.status = 404}, {});
    }
  }

 private:
  static constexpr atl::HttpReply kText{.content_type = "text/plain"};

  template <class Function>
  void post(Function function) {
    thread_->post(atl::make_task(std::move(function)));
  }

  static void echo(atl::HttpExchange& exchange) {
    std::string type;
    for (uint32_t i = 0; i < exchange.header_count(); ++i) {
      if (exchange.header(i).name == "Content-Type") type = exchange.header(i).value;
    }
    const auto body = exchange.body();
    const std::string size = atl::cat(body.size());
    const atl::HttpHeader headers[] = {{"X-Size", size}};
    exchange.answer({.status = 201, .content_type = type, .headers = headers},
                    std::string(reinterpret_cast<const char*>(body.data()), body.size()));
  }
  /// As many pieces as the query says.
  void stream(atl::HttpExchange& exchange) {
    int count = 0;
    const std::string_view query = exchange.query();
    std::from_chars(query.data(), query.data() + query.size(), count);
    post([&exchange, count] {
      exchange.begin(kText);
      for (int i = 0; i < count; ++i) (void)exchange.write(atl::cat("piece ", i, "\n")).ok();
      exchange.end();
    });
  }
  /// More than any client takes, unless the plugin drains.
  void flood(atl::HttpExchange& exchange) {
    exchange.begin(kText);
    atl::Status status;
    while (status.ok() && !host_.gate().closed()) status = exchange.write(std::string(65536, 'x'));
    exchange.end();
    host_.log().info("the flood ended: ", status.message());
  }
  void hold(atl::HttpExchange& exchange) {
    std::lock_guard lock(mutex_);
    held_.push_back(&exchange);
    if (!exchange.cancellation().listen(this, &exchange)) on_cancel(&exchange);
    host_.log().info("a request is held");
  }
  void answer_held(std::string_view how) {
    std::vector<atl::HttpExchange*> held;
    {
      std::lock_guard lock(mutex_);
      held.swap(held_);
    }
    for (atl::HttpExchange* exchange : held) {
      exchange->cancellation().stop_listening();
      exchange->answer(kText, atl::cat(name_, " ", how));
    }
  }
  void on_cancel(void* exchange) noexcept override {
    post([this, gone = static_cast<atl::HttpExchange*>(exchange)] {
      {
        std::lock_guard lock(mutex_);
        if (std::erase(held_, gone) == 0) return;
      }
      gone->cancellation().stop_listening();
      gone->answer(kText, {});
      host_.log().info("the client of a held request has gone");
    });
  }

  atl::Host& host_;
  const std::string name_;
  const std::string prefix_;
  std::mutex mutex_;
  std::vector<atl::HttpExchange*> held_;
  atl::SerialExecutorPtr thread_;
};

constexpr atl::OptionTable kOptions{
    atl::option_string("name", "first").help("What answers begin with."),
    atl::option_duration("slow", "2s").help("How long slow answers take."),
    atl::option_string("prefix", "/fixture").help("What paths begin with."),
};

}  // namespace

ATOLL_PLUGIN(RoutesFixture, {.name = "tests/http_routes",
                             .version = "1.0.0",
                             .license = "Apache-2.0",
                             .help = "Routes for tests.",
                             .provides = {atl::provide<atl::HttpRoutes>()},
                             .options = kOptions});
