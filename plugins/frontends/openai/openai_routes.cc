#include "frontends/openai/openai_routes.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <iterator>
#include <set>
#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/stop_executor.h"
#include "atoll/lib/http_request.h"
#include "frontends/openai/completion_call.h"
#include "frontends/openai/embedding_call.h"
#include "frontends/openai/model_role.h"
#include "frontends/openai/request_parser.h"

namespace atl::frontends::openai {
namespace {

/// Bodies up to here are read on the connection's thread, in less than 100 microseconds.
constexpr size_t kSmallBytes = 32 << 10;
constexpr std::string_view kModelPrefix = "/v1/models/";

bool is_named(std::string_view header, std::string_view name) {
  return boost::beast::iequals({header.data(), header.size()}, {name.data(), name.size()});
}

std::string_view text_of_body(const HttpExchange& exchange) noexcept {
  const auto body = exchange.body();
  return {reinterpret_cast<const char*>(body.data()), body.size()};
}

}  // namespace

struct OpenAiRoutes::Entry {
  const char* path;
  uint32_t methods;
  const char* category;
  Endpoint endpoint;
};

constexpr OpenAiRoutes::Entry OpenAiRoutes::kEntries[] = {
    {"/v1/models", kHttpGet, "openai.models", Endpoint::kModels},
    {"/v1/models/*", kHttpGet, "openai.models", Endpoint::kModel},
    {"/v1/chat/completions", kHttpPost, "openai.chat", Endpoint::kChat},
    {"/v1/completions", kHttpPost, "openai.completions", Endpoint::kCompletions},
    {"/v1/embeddings", kHttpPost, "openai.embeddings", Endpoint::kEmbeddings},
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
  started_s_ = host_.clock().wall_ns() / kNsPerSecond;
  context_.emplace(OpenAiContext{host_, *catalog_, router_, tracing_, settings_.aliases});
  return {};
}

void OpenAiRoutes::stop() {
  if (slow_ != nullptr) stop_executor(slow_);
  context_.reset();
  tracing_.close();
  router_.close();
  catalog_.reset();
}

std::vector<HttpRoute> OpenAiRoutes::routes() const noexcept {
  std::vector<HttpRoute> all;
  for (const Entry& entry : kEntries) all.push_back({entry.path, entry.methods, entry.category});
  return all;
}

Result<CallOrigin> OpenAiRoutes::read_head(const HttpExchange& exchange) const {
  CallOrigin head;
  bool has_tenant = false;
  for (uint32_t i = 0; i < exchange.header_count(); ++i) {
    const HttpHeader header = exchange.header(i);
    if (settings_.tenant.active() && settings_.tenant.is(header.name)) {
      if (std::exchange(has_tenant, true)) return settings_.tenant.given_twice();
      head.tenant = header.value;
    } else if (is_named(header.name, "content-encoding") && header.value != "identity") {
      return invalid_argument("bodies with a Content-Encoding are not served: send the JSON as it is");
    } else if (is_named(header.name, "traceparent")) {
      head.traceparent = header.value;
    } else if (is_named(header.name, "tracestate")) {
      head.tracestate = header.value;
    }
  }
  return head;
}

void OpenAiRoutes::handle(std::string_view route, HttpExchange& exchange) noexcept {
  Pass pass(host_.gate());
  if (!pass) return answer_error(exchange, error_of(unavailable("Server exiting")));
  const Entry* const entry = std::find_if(std::begin(kEntries), std::end(kEntries),
                                          [&](const Entry& one) { return route == one.path; });
  // An instance before this one may have had it.
  if (entry == std::end(kEntries))
    return answer_error(exchange, {.status = 404, .message = "There is no such path."});
  Result<CallOrigin> head = guarded("reading the head", [&] { return read_head(exchange); });
  if (!head.ok()) return answer_error(exchange, error_of(head.status()));
  if (entry->endpoint == Endpoint::kModel) {
    Status shown = guarded("looking the model up", [&] {
      show(exchange, exchange.path().substr(std::min(kModelPrefix.size(), exchange.path().size())));
      return Status();
    });
    if (!shown.ok()) answer_error(exchange, error_of(shown));
    return;
  }
  if (entry->endpoint != Endpoint::kModels && exchange.body().size() <= kSmallBytes)
    return answer(entry->endpoint, exchange, std::move(head).value(), std::move(pass));
  slow_->post(make_task(
      [this, endpoint = entry->endpoint, &exchange, head = std::move(head).value(),
       pass = std::move(pass)]() mutable { answer(endpoint, exchange, std::move(head), std::move(pass)); }));
}

void OpenAiRoutes::answer(Endpoint endpoint, HttpExchange& exchange, CallOrigin head, Pass pass) noexcept {
  if (endpoint == Endpoint::kModels) return list(exchange);
  Status status = guarded("reading the request", [&] {
    if (endpoint == Endpoint::kEmbeddings) {
      embed(exchange, std::move(head), std::move(pass));
    } else {
      complete(endpoint == Endpoint::kChat, exchange, std::move(head), std::move(pass));
    }
    return Status();
  });
  if (!status.ok()) answer_error(exchange, error_of(status));
}

std::variant<ModelRef, ApiError> OpenAiRoutes::find(const std::string& name, Role role) const {
  Result<ModelRef> found = context_->find(name);
  if (!found.ok() && found.status().code() != Code::kNotFound) return error_of(found.status());
  if (!found.ok()) {
    ApiError error = unknown_model(name);
    if (const auto alias = settings_.aliases.find(name); alias != settings_.aliases.end())
      error.message = cat("The model '", alias->second, "', which '", name,
                          "' stands for, does not exist or is not served.");
    return error;
  }
  if (role_of(found.value()->info()) == role) return std::move(found).value();
  const bool is_text = role == Role::kText;
  return wrong_field("model", cat("The model '", name, "' makes no ", is_text ? "text" : "embeddings",
                                  ": it needs the input '", kTextInput, "' and the output '",
                                  is_text ? kTextOutput : kEmbedding, "'."));
}

void OpenAiRoutes::complete(bool is_chat, HttpExchange& exchange, CallOrigin head, Pass pass) {
  auto read = read_completion(text_of_body(exchange), is_chat);
  if (const auto* failure = std::get_if<ApiError>(&read)) return answer_error(exchange, *failure);
  auto& request = std::get<CompletionRequest>(read);
  count_unknown(request.unknown_fields);
  auto model = find(request.model, Role::kText);
  if (const auto* failure = std::get_if<ApiError>(&model)) return answer_error(exchange, *failure);
  auto& held = std::get<ModelRef>(model);
  if (auto refusal = CompletionCall::refusal(request, held->info())) return answer_error(exchange, *refusal);
  CompletionCall::start(*context_, exchange, std::move(request), std::move(head), std::move(held),
                        std::move(pass));
}

void OpenAiRoutes::embed(HttpExchange& exchange, CallOrigin head, Pass pass) {
  auto read = read_embedding(text_of_body(exchange));
  if (const auto* failure = std::get_if<ApiError>(&read)) return answer_error(exchange, *failure);
  auto& request = std::get<EmbeddingRequest>(read);
  count_unknown(request.unknown_fields);
  auto model = find(request.model, Role::kEmbedding);
  if (const auto* failure = std::get_if<ApiError>(&model)) return answer_error(exchange, *failure);
  EmbeddingCall::start(*context_, exchange, std::move(request), std::move(head),
                       std::move(std::get<ModelRef>(model)), std::move(pass));
}

std::optional<ListedModel> OpenAiRoutes::listed(const std::string& name) const {
  const Result<ModelRef> model = context_->find(name);
  if (!model.ok() || role_of(model.value().get()->info()) == Role::kNone) return std::nullopt;
  return ListedModel{name, started_s_};
}

void OpenAiRoutes::list(HttpExchange& exchange) noexcept {
  Result<std::string> json = guarded("listing the models", [&]() -> Result<std::string> {
    Result<std::vector<ModelIndexEntry>> index = catalog_->index(/*ready_only=*/true);
    if (!index.ok()) return std::move(index).status();
    std::set<std::string> names;
    for (const ModelIndexEntry& entry : index.value()) names.insert(entry.name);
    for (const auto& [alias, model] : settings_.aliases) names.insert(alias);
    std::vector<ListedModel> models;
    for (const std::string& name : names) {
      if (auto model = listed(name)) models.push_back(std::move(*model));
    }
    return models_json(models);
  });
  if (!json.ok()) return answer_error(exchange, error_of(json.status()));
  exchange.answer({.content_type = kJsonType}, std::move(json).value());
}

void OpenAiRoutes::show(HttpExchange& exchange, std::string_view id) {
  const std::string name = percent_decode(id);
  const std::optional<ListedModel> model = listed(name);
  if (!model) return answer_error(exchange, unknown_model(name));
  exchange.answer({.content_type = kJsonType}, model_json(*model));
}

void OpenAiRoutes::collect(MetricSink& sink) const noexcept {
  sink.family("atoll_openai_unknown_fields_total",
              "Fields of requests to the OpenAI API that are not known and were ignored.",
              MetricKind::kCounter);
  sink.sample({}, static_cast<double>(unknown_fields_.load(std::memory_order_relaxed)));
}

}  // namespace atl::frontends::openai
