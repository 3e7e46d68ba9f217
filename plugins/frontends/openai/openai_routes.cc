#include "frontends/openai/openai_routes.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <iterator>
#include <set>
#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/stop_executor.h"
#include "atoll/lib/http_request.h"
#include "frontends/openai/calls/endpoints.h"

namespace atl::frontends::openai {
namespace {

/// Bodies up to here are read on the connection's thread, in less than 100 microseconds.
constexpr size_t kSmallBytes = 32 << 10;
constexpr std::string_view kModelPrefix = "/v1/models/";

bool is_named(std::string_view header, std::string_view name) {
  return boost::beast::iequals({header.data(), header.size()}, {name.data(), name.size()});
}

}  // namespace

/// Of one route.
struct OpenAiRoutes::Entry {
  const char* path;
  uint32_t methods;
  const char* category;
  /// Null: models are listed or shown.
  AnswerCall answer = nullptr;
};

constexpr OpenAiRoutes::Entry OpenAiRoutes::kEntries[] = {
    {"/v1/models", kHttpGet, "openai.models"},
    {"/v1/models/*", kHttpGet, "openai.models"},
    {"/v1/chat/completions", kHttpPost, "openai.chat", &answer_chat},
    {"/v1/completions", kHttpPost, "openai.completions", &answer_completion},
    {"/v1/embeddings", kHttpPost, "openai.embeddings", &answer_embedding},
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
  context_.emplace(host_, *catalog_, router_, tracing_, settings_.aliases, profiles_);
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
  if (entry->answer == nullptr && route.back() == '*') {
    Status shown = guarded("looking the model up", [&] {
      show(exchange, exchange.path().substr(std::min(kModelPrefix.size(), exchange.path().size())));
      return Status();
    });
    if (!shown.ok()) answer_error(exchange, error_of(shown));
    return;
  }
  if (entry->answer != nullptr && exchange.body().size() <= kSmallBytes)
    return answer(*entry, exchange, std::move(head).value(), std::move(pass));
  slow_->post(
      make_task([this, entry, &exchange, head = std::move(head).value(), pass = std::move(pass)]() mutable {
        answer(*entry, exchange, std::move(head), std::move(pass));
      }));
}

void OpenAiRoutes::answer(const Entry& entry, HttpExchange& exchange, CallOrigin head, Pass pass) noexcept {
  if (entry.answer == nullptr) return list(exchange);
  Status status = guarded("reading the request", [&] {
    entry.answer(*context_, exchange, std::move(head), std::move(pass));
    return Status();
  });
  if (!status.ok()) answer_error(exchange, error_of(status));
}

std::optional<ListedModel> OpenAiRoutes::listed(const std::string& name) const {
  const Result<ModelRef> model = context_->find(name);
  if (!model.ok() || !profiles_.of(model.value().get()->info())->has_role()) return std::nullopt;
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
  sink.sample({},
              context_ ? static_cast<double>(context_->unknown_fields.load(std::memory_order_relaxed)) : 0);
}

}  // namespace atl::frontends::openai
