#include "http_sender.h"

#include <charconv>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/lib/http_caller.h"
#include "v2_body.h"

namespace atl::replay {
namespace {

constexpr size_t kAnswerBytesMax = size_t{1} << 30;
constexpr int64_t kConnectTimeoutNs = 10 * kNsPerSecond;
/// How many bytes of a body are JSON; the tensors stand behind it.
constexpr const char* kJsonBytesHeader = "Inference-Header-Content-Length";

Outcome outcome_of(const HttpAnswer& answer) {
  constexpr int kOk = 200;
  if (answer.status != kOk) return {make_status(Code::kUnknown, v2_error(answer.status, answer.body)), {}};
  size_t json_bytes = answer.body.size();
  const std::string& written = answer.headers.front();
  if (!written.empty()) {
    const char* const end = written.data() + written.size();
    if (std::from_chars(written.data(), end, json_bytes).ptr != end)
      return {make_status(Code::kInternal, "the header ", kJsonBytesHeader, " of the answer is no number"),
              {}};
  }
  Result<recording::v1::Response> response = read_v2_answer(answer.body, json_bytes);
  if (!response.ok()) return {std::move(response).status(), {}};
  Outcome outcome;
  outcome.responses.push_back(std::move(response).value());
  return outcome;
}

}  // namespace

HttpRequest HttpSender::made(std::string path) const {
  HttpRequest request;
  request.url = cat(address_.tls.is_used ? "https://" : "http://", address_.host_port, path);
  request.ca_file = address_.tls.ca_file;
  request.cert_file = address_.tls.cert_file;
  request.key_file = address_.tls.key_file;
  request.headers = address_.headers;
  return request;
}

Status HttpSender::connect() {
  HttpCaller caller;
  ATOLL_RETURN_IF_ERROR(caller.open());
  HttpRequest request = made("/v2/health/live");
  request.timeout_ns = kConnectTimeoutNs;
  Result<HttpAnswer> answer = caller.call(request);
  if (!answer.ok()) return std::move(answer).status();
  return client_.start(executors_, "replay-http");
}

void HttpSender::send(recording::v1::Request request, const SendOptions& options, Done done) {
  if (request.decoupled()) {
    return done(
        {make_status(Code::kUnimplemented, "model '", request.model(),
                     "' answers a request any number of times, which the protocol has over gRPC only"),
         {}});
  }
  Result<V2Body> body = v2_body(request, options.names_version);
  if (!body.ok()) return done({std::move(body).status(), {}});
  HttpRequest call = made(std::move(body->path));
  call.method = "POST";
  call.body = std::move(body->bytes);
  call.content_type = "application/octet-stream";
  call.headers.push_back(cat(kJsonBytesHeader, ": ", body->json_bytes));
  call.answer_headers = {kJsonBytesHeader};
  call.answer_bytes_max = kAnswerBytesMax;
  call.timeout_ns = options.timeout_ns;
  client_.call(std::move(call), [done = std::move(done)](Result<HttpAnswer> answer) {
    done(answer.ok() ? outcome_of(*answer) : Outcome{std::move(answer).status(), {}});
  });
}

}  // namespace atl::replay
