#include "frontends/metrics/inference_port_routes.h"

#include <string>

#include "atoll/core/stop_executor.h"
#include "frontends/common/http/compression.h"
#include "frontends/common/http/header_name.h"

namespace atl::frontends::metrics {
namespace {

void answer_failure(HttpExchange& exchange, const Status& status) {
  exchange.answer({.status = 500, .content_type = "text/plain"}, cat(status.text(), "\n"));
}

}  // namespace

Status InferencePortRoutes::start() {
  Result<SerialExecutorPtr> executor = host_.executors().create("metrics-pages", {});
  if (!executor.ok()) return std::move(executor).status();
  slow_ = std::move(executor).value();
  return {};
}

void InferencePortRoutes::stop() { stop_executor(slow_); }

std::vector<HttpRoute> InferencePortRoutes::routes() const noexcept {
  if (slow_ == nullptr) return {};
  return {{std::string(kPagePath), kHttpGet, "metrics"}, {std::string(kSummaryPath), kHttpGet, "metrics"}};
}

void InferencePortRoutes::handle(std::string_view route, HttpExchange& exchange) noexcept {
  Pass pass(host_.gate());
  if (!pass || slow_ == nullptr) return exchange.answer({.status = 503, .content_type = "text/plain"}, {});
  PageRequest wanted{.is_summary = route == kSummaryPath};
  http::Encoding encoding = http::Encoding::kIdentity;
  const Status status = guarded("reading the head", [&]() -> Status {
    std::string accept, encodings;
    for (uint32_t i = 0; i < exchange.header_count(); ++i) {
      const HttpHeader header = exchange.header(i);
      if (is_named(header.name, "accept")) accept.append(header.value).append(",");
      if (is_named(header.name, "accept-encoding")) encodings.append(header.value).append(",");
    }
    wanted.format = accepted_format(accept);
    encoding = http::accepted_encoding(encodings);
    if (wanted.is_summary) return {};
    // A whole page may take a while, and the thread has other connections.
    slow_->post(make_task(
        [this, &exchange, wanted, encoding, pass = std::move(pass)] { answer(exchange, wanted, encoding); }));
    return {};
  });
  if (!status.ok()) return answer_failure(exchange, status);
  if (wanted.is_summary) answer(exchange, wanted, encoding);
}

void InferencePortRoutes::answer(HttpExchange& exchange, const PageRequest& wanted,
                                 http::Encoding encoding) noexcept {
  std::string text;
  const Status status = guarded("the page of metrics", [&]() -> Status {
    text = page_(wanted);
    if (encoding == http::Encoding::kIdentity) return {};
    const iovec plain{text.data(), text.size()};
    BodyBuffer compressed;
    // A collector that asks for it takes it plain as well.
    if (http::compress(encoding, {&plain, 1}, &compressed).ok()) {
      text.assign(reinterpret_cast<const char*>(compressed.data()), compressed.size());
    } else {
      encoding = http::Encoding::kIdentity;
    }
    return {};
  });
  if (!status.ok()) return answer_failure(exchange, status);
  const HttpHeader is_encoded{"Content-Encoding", http::encoding_name(encoding)};
  HttpReply reply{.content_type = content_type(wanted.format)};
  if (encoding != http::Encoding::kIdentity) reply.headers = {&is_encoded, 1};
  exchange.answer(reply, std::move(text));
}

}  // namespace atl::frontends::metrics
