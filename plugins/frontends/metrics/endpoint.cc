#include "frontends/metrics/endpoint.h"

#include <exception>

namespace atl::frontends::metrics {
namespace {

using http::Channel;
using http::ReplyHead;
using http::RequestHead;
using http::Verdict;

constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

/// One page on its way to a collector.
class Scrape final : public http::Call {
 public:
  Scrape(Gate& gate, const std::function<std::string()>& page) : gate_(gate), page_(page) {}

  void run(Channel& channel) noexcept override {
    pass_ = Pass(gate_);  // without one, too: the server as a whole is ending and still to be seen
    ReplyHead head{.content_type = kPlainText};
    std::string text;
    try {
      text = page_();
    } catch (const std::exception& error) {
      head.http_status = 500;
      text = std::string("no page: ") + error.what() + "\n";
    }
    channel.answer_text(head, std::move(text));
  }
  void on_written() noexcept override { delete this; }
  void on_gone() noexcept override { delete this; }

 private:
  ~Scrape() = default;

  Gate& gate_;
  const std::function<std::string()>& page_;
  Pass pass_;
};

class EndpointHandler final : public http::Handler {
 public:
  EndpointHandler(Gate& gate, const std::function<std::string()>& page) : gate_(gate), page_(page) {}

  void judge(RequestHead& head, Verdict& verdict) override {
    if (head.path != "/metrics" && head.path != "/metrics/") {
      return verdict.refuse(404, head.method == "HEAD" ? "" : "not found; metrics are at /metrics\n");
    }
    verdict.guarded = ApiCategory::kMetrics;
    if (head.method != "GET") {
      verdict.refuse(405, "");
      verdict.extra = "Allow: GET\r\n";
    }
  }
  http::Call* make_call(const RequestHead&, Verdict&) override { return new Scrape(gate_, page_); }

 private:
  Gate& gate_;
  const std::function<std::string()>& page_;
};

/// The transport refuses a long line without a blank as a method that it does not know.
bool is_long_head(int http_status, std::string_view text) noexcept {
  return http_status == 431 || http_status == 414 || (http_status == 405 && !text.empty());
}

}  // namespace

http::ServerOptions MetricsEndpoint::server_options(const MetricsSettings& settings) {
  return {.name = "the metrics service",
          .thread_name = "metrics-http-",
          .address = settings.address,
          .max_connections = settings.max_connections,
          .descriptor_share = kMetricsShare,
          .head = {.line_bytes = kMaxHeadBytes, .fields_bytes = kMaxHeadBytes, .headers = kMaxHeadBytes},
          .max_body_bytes = kMaxBodyBytes,
          .header_timeout_ns = settings.idle_timeout_ns,
          .idle_timeout_ns = settings.idle_timeout_ns,
          .progress_bytes = SIZE_MAX,
          .leave_grace_ns = 0,
          .unfinished_make_room = true};
}

std::unique_ptr<http::Handler> MetricsEndpoint::make_handler(http::ServerThread&) {
  return std::make_unique<EndpointHandler>(gate_, page_);
}

std::string MetricsEndpoint::refusal_body(std::string_view text, ReplyHead& head) const {
  if (head.http_status == 503) return {};
  head.content_type = kPlainText;
  if (is_long_head(head.http_status, text)) {
    head.http_status = 431;
    return "the head of the request is too large\n";
  }
  if (head.http_status == 405) head.reason = "Method Not Allowed";
  if (head.http_status == 413) return "the body of the request is too large\n";
  if (head.http_status == 400) return "not an HTTP request\n";
  return std::string(text);
}

}  // namespace atl::frontends::metrics
