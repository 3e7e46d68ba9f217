#include "frontends/openai/openai_routes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/stop_executor.h"
#include "frontends/openai/calls/endpoints.h"

namespace atl::frontends::openai {
namespace {

/// Bodies up to here are read on the connection's thread, in less than 100 microseconds.
constexpr size_t kSmallBytes = 32 << 10;

}  // namespace

/// Of one route.
struct OpenAiRoutes::Entry {
  const char* path;
  uint32_t methods;
  const char* category;
  AnswerCall answer;
  bool is_slow = false;  ///< whatever the body
  ErrorJson errors = &openai_error_json;
};

constexpr OpenAiRoutes::Entry OpenAiRoutes::kEntries[] = {
    {"/v1/models", kHttpGet, "openai.models", &answer_models, true},
    {"/v1/models/*", kHttpGet, "openai.models", &answer_model},
    {"/v1/models/*", kHttpPost, "model-repository", &answer_model_control},
    {"/v1/chat/completions", kHttpPost, "openai.chat", &answer_chat},
    {"/v1/completions", kHttpPost, "openai.completions", &answer_completion},
    {"/v1/embeddings", kHttpPost, "openai.embeddings", &answer_embedding},
    {"/v1/responses", kHttpPost, "openai.responses", &answer_response},
    {"/v1/responses/*", kHttpGet | kHttpPost | kHttpDelete, "openai.responses", &answer_stored_response},
    {"/v1/messages", kHttpPost, "openai.messages", &answer_message, false, &messages_error_json},
    {"/v1/messages/count_tokens", kHttpPost, "openai.tokens", &answer_message_count, false,
     &messages_error_json},
    {"/v1/rerank", kHttpPost, "openai.rerank", &answer_rerank},
    {"/v2/rerank", kHttpPost, "openai.rerank", &answer_rerank},
    {"/rerank", kHttpPost, "openai.rerank", &answer_rerank},
    {"/v1/classify", kHttpPost, "openai.classify", &answer_classify},
    {"/classify", kHttpPost, "openai.classify", &answer_classify},
    {"/tokenize", kHttpPost, "openai.tokens", &answer_tokenize},
    {"/detokenize", kHttpPost, "openai.tokens", &answer_detokenize},
    {"/health", kHttpGet, "health", &answer_health},
};

Status OpenAiRoutes::start() {
  Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
  if (!catalog.ok()) return std::move(catalog).status();
  Result<SerialExecutorPtr> slow = host_.executors().create("openai", {});
  if (!slow.ok()) return std::move(slow).status();
  ATOLL_RETURN_IF_ERROR(router_.open());
  ATOLL_RETURN_IF_ERROR(tracing_.open());
  catalog_ = std::move(catalog).value();
  slow_ = std::move(slow).value();
  pings_.emplace(host_.clock(), *slow_, settings_.ping_interval_ns);
  context_.emplace(host_, *catalog_, router_, tracing_, settings_.aliases, profiles_, *pings_);
  return {};
}

void OpenAiRoutes::stop() {
  if (slow_ != nullptr) stop_executor(slow_);
  context_.reset();
  pings_.reset();
  tracing_.close();
  router_.close();
  catalog_.reset();
}

std::vector<HttpRoute> OpenAiRoutes::routes() const noexcept {
  std::vector<HttpRoute> all;
  for (const Entry& entry : kEntries) all.push_back({entry.path, entry.methods, entry.category});
  return all;
}

void OpenAiRoutes::handle(std::string_view route, HttpExchange& exchange) noexcept {
  const uint32_t method = exchange.method() == "GET"      ? kHttpGet
                          : exchange.method() == "DELETE" ? kHttpDelete
                                                          : kHttpPost;
  const Entry* const entry = std::find_if(std::begin(kEntries), std::end(kEntries), [&](const Entry& one) {
    return route == one.path && (one.methods & method) != 0;
  });
  // An instance before this one may have had it.
  if (entry == std::end(kEntries))
    return answer_error(exchange, {.status = 404, .message = "There is no such path."});
  Pass pass(host_.gate());
  if (!pass) return answer_error(exchange, error_of(unavailable("Server exiting")), entry->errors);
  Result<CallOrigin> head =
      guarded("reading the head", [&] { return read_origin(exchange, settings_.tenant); });
  if (!head.ok()) return answer_error(exchange, error_of(head.status()), entry->errors);
  if (!entry->is_slow && exchange.body().size() <= kSmallBytes)
    return answer(*entry, exchange, std::move(head).value(), std::move(pass));
  slow_->post(
      make_task([this, entry, &exchange, head = std::move(head).value(), pass = std::move(pass)]() mutable {
        answer(*entry, exchange, std::move(head), std::move(pass));
      }));
}

void OpenAiRoutes::answer(const Entry& entry, HttpExchange& exchange, CallOrigin head, Pass pass) noexcept {
  Status status = guarded("reading the request", [&] {
    entry.answer(*context_, exchange, std::move(head), std::move(pass));
    return Status();
  });
  if (!status.ok()) answer_error(exchange, error_of(status), entry.errors);
}

void OpenAiRoutes::collect(MetricSink& sink) const noexcept {
  if (!context_) return;
  sink.family("atoll_openai_unknown_fields_total",
              "Fields of requests to the OpenAI API that are not known and were ignored.",
              MetricKind::kCounter);
  sink.sample({}, static_cast<double>(context_->unknown_fields.load(std::memory_order_relaxed)));
  context_->metrics.collect(sink, settings_.vllm_metrics);
}

}  // namespace atl::frontends::openai
