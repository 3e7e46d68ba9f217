#include "frontends/metrics/endpoint.h"

#include <exception>
#include <span>

#include "frontends/common/http/compression.h"
#include "frontends/common/http/header_name.h"

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
  Scrape(Gate& gate, const MakePage& page, bool is_summary)
      : gate_(gate), page_(page), is_summary_(is_summary) {}

  void run(Channel& channel) noexcept override {
    pass_ = Pass(gate_);  // without one, too: the server as a whole is ending and still to be seen
    std::string accept;
    for (const http::HeaderField& field : channel.head().fields) {
      if (is_named(field.name, "accept")) accept.append(field.value).append(",");
    }
    const PageFormat format = accepted_format(accept);
    ReplyHead head{.content_type = content_type(format)};
    std::string text;
    try {
      text = page_({format, is_summary_});
    } catch (const std::exception& error) {
      head.http_status = 500;
      head.content_type = kPlainText;
      text = std::string("no page: ") + error.what() + "\n";
    }
    const http::Encoding encoding = http::accepted_encoding(channel.head().accept_encoding);
    if (encoding == http::Encoding::kIdentity) return channel.answer_text(head, std::move(text));
    answer_compressed(channel, head, encoding, std::move(text));
  }
  void on_written() noexcept override { delete this; }
  void on_gone() noexcept override { delete this; }

 private:
  ~Scrape() = default;

  void answer_compressed(Channel& channel, ReplyHead head, http::Encoding encoding,
                         std::string text) noexcept {
    const iovec plain{text.data(), text.size()};
    // A collector that asks for it takes it plain as well.
    if (!http::compress(encoding, {&plain, 1}, &compressed_).ok())
      return channel.answer_text(head, std::move(text));
    head.encoding = encoding;
    head.content_length = compressed_.size();
    body_ = {const_cast<uint8_t*>(compressed_.data()), compressed_.size()};
    channel.answer(head, {&body_, 1});
  }

  Gate& gate_;
  const MakePage& page_;
  const bool is_summary_;
  Pass pass_;
  BodyBuffer compressed_;
  iovec body_{};
};

class EndpointHandler final : public http::Handler {
 public:
  EndpointHandler(Gate& gate, const MakePage& page) : gate_(gate), page_(page) {}

  void judge(RequestHead& head, Verdict& verdict) override {
    if (!find_page(head.path)) {
      return verdict.refuse(404, head.method == "HEAD" ? "" : "not found; metrics are at /metrics\n");
    }
    verdict.guarded = ApiCategory::kMetrics;
    if (head.method != "GET") {
      verdict.refuse(405, "");
      verdict.extra = "Allow: GET\r\n";
    }
  }
  http::Call* make_call(const RequestHead& head, Verdict&) override {
    return new Scrape(gate_, page_, find_page(head.path).value_or(false));
  }

 private:
  Gate& gate_;
  const MakePage& page_;
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
          .unfinished_make_room = true,
          .open_after_startup = settings.open_after_startup};
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
