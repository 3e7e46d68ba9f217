#include "frontends/tfserving/serving_routes.h"

#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/stop_executor.h"
#include "atoll/core/text.h"
#include "frontends/tfserving/answer/error_answer.h"
#include "frontends/tfserving/calls/status_calls.h"
#include "frontends/tfserving/calls/tensor_call.h"

namespace atl::frontends::tfserving {
namespace {

/// Bodies up to here are read on the connection's thread, in about 100 microseconds.
constexpr size_t kSmallBytes = 32 << 10;
constexpr size_t kMostPrefixBytes = 256;

struct Pattern {
  std::string_view rest;  ///< behind "/v1/models"
  uint32_t methods;
  RestAction action;
};
constexpr Pattern kPatterns[] = {
    {"", kHttpGet, RestAction::kStatus},
    {"/*", kHttpGet, RestAction::kStatus},
    {"/*/versions/*", kHttpGet, RestAction::kStatus},
    {"/*/labels/*", kHttpGet, RestAction::kStatus},
    {"/*/metadata", kHttpGet, RestAction::kMetadata},
    {"/*/versions/*/metadata", kHttpGet, RestAction::kMetadata},
    {"/*/labels/*/metadata", kHttpGet, RestAction::kMetadata},
    {"/*:predict", kHttpPost, RestAction::kPredict},
    {"/*:classify", kHttpPost, RestAction::kClassify},
    {"/*:regress", kHttpPost, RestAction::kRegress},
    // Else the longer patterns above would have these paths, which take no POST.
    {"/*/versions/*:predict", kHttpPost, RestAction::kPredict},
    {"/*/versions/*:classify", kHttpPost, RestAction::kClassify},
    {"/*/versions/*:regress", kHttpPost, RestAction::kRegress},
    {"/*/labels/*:predict", kHttpPost, RestAction::kPredict},
    {"/*/labels/*:classify", kHttpPost, RestAction::kClassify},
    {"/*/labels/*:regress", kHttpPost, RestAction::kRegress},
    // Any other action: the answer says "Malformed request", as TensorFlow Serving's does, in place of the frontend's 405.
    {"/*", kHttpPost, RestAction::kStatus},
    {"/*/versions/*", kHttpPost, RestAction::kStatus},
    {"/*/labels/*", kHttpPost, RestAction::kStatus},
    {"/*/metadata", kHttpPost, RestAction::kMetadata},
};

std::string_view category_of(RestAction action) noexcept {
  switch (action) {
    case RestAction::kPredict:
      return "tfserving.predict";
    case RestAction::kClassify:
      return "tfserving.classify";
    case RestAction::kRegress:
      return "tfserving.regress";
    case RestAction::kMetadata:
      return "tfserving.metadata";
    case RestAction::kStatus:
      break;
  }
  return "tfserving.status";
}

Status malformed(std::string_view method, std::string_view path) {
  return invalid_argument("Malformed request: ", method, " ", path);
}

}  // namespace

std::string wrong_prefix(std::string_view prefix) {
  if (prefix.empty()) return {};
  if (prefix.front() != '/' || prefix.back() == '/')
    return "expected a path that begins with '/' and does not end with it";
  if (prefix.size() > kMostPrefixBytes) return cat("expected at most ", kMostPrefixBytes, " bytes");
  for (const char c : prefix) {
    if (c <= ' ' || c == 0x7F || c == '?' || c == '*' || c == '%' || c == '#')
      return "it has a character that such a path cannot have";
  }
  return {};
}

ServingRoutes::ServingRoutes(Host& host, ServingSettings settings)
    : host_(host),
      settings_(std::move(settings)),
      models_path_(settings_.prefix + "/v1/models"),
      router_(host),
      tracing_(host) {}

Status ServingRoutes::start() {
  Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
  if (!catalog.ok()) return std::move(catalog).status();
  Result<SerialExecutorPtr> slow = host_.executors().create("tfserving", {});
  if (!slow.ok()) return std::move(slow).status();
  ATOLL_RETURN_IF_ERROR(router_.open());
  ATOLL_RETURN_IF_ERROR(tracing_.open());
  catalog_ = std::move(catalog).value();
  slow_ = std::move(slow).value();
  context_.emplace(
      RestContext{host_, *catalog_, router_, tracing_, settings_.max_elements, settings_.has_kserve_status});
  return {};
}

void ServingRoutes::stop() {
  if (slow_ != nullptr) stop_executor(slow_);
  context_.reset();
  tracing_.close();
  router_.close();
  catalog_.reset();
}

std::vector<HttpRoute> ServingRoutes::routes() const noexcept {
  std::vector<HttpRoute> all;
  for (const Pattern& one : kPatterns)
    all.push_back({cat(models_path_, one.rest), one.methods, std::string(category_of(one.action))});
  return all;
}

void ServingRoutes::handle(std::string_view, HttpExchange& exchange) noexcept {
  Pass pass(host_.gate());
  if (!pass) return answer_error(exchange, unavailable("Server exiting"));
  // Whether the exchange is taken over: what fails before that is answered here.
  Status status = guarded("reading the head", [&]() -> Status {
    take(exchange, std::move(pass));
    return {};
  });
  if (!status.ok()) answer_error(exchange, status);
}

void ServingRoutes::take(HttpExchange& exchange, Pass pass) {
  const std::string_view path = exchange.path(), method = exchange.method();
  const std::string_view rest = path.substr(std::min(path.size(), models_path_.size()));
  std::optional<CallTarget> target;
  if (rest.empty()) {
    target.emplace();
  } else if (rest.front() == '/') {
    target = read_target(rest.substr(1), method == "POST");
  }
  if (!path.starts_with(models_path_)) return answer_error(exchange, not_found("There is no such path."));
  if (!target) return answer_error(exchange, malformed(method, path));
  Result<CallOrigin> origin = read_origin(exchange, settings_.tenant, category_of(target->action));
  if (!origin.ok()) return answer_error(exchange, origin.status());
  // Lists of models read the repository.
  if (target->action != RestAction::kStatus && exchange.body().size() <= kSmallBytes)
    return answer(exchange, *target, std::move(origin).value(), std::move(pass));
  slow_->post(make_task(
      [this, &exchange, target = std::move(*target), origin = std::move(origin).value(),
       pass = std::move(pass)]() mutable { answer(exchange, target, std::move(origin), std::move(pass)); }));
}

void ServingRoutes::answer(HttpExchange& exchange, const CallTarget& target, CallOrigin origin,
                           Pass pass) noexcept {
  Status status = guarded("reading the request", [&]() -> Status {
    switch (target.action) {
      case RestAction::kStatus:
        answer_json(exchange, target.model.empty() ? models_json(*context_, origin)
                                                   : model_status_json(*context_, target, origin));
        break;
      case RestAction::kMetadata:
        answer_json(exchange, metadata_json(*context_, target, origin));
        break;
      default:
        TensorCall::start(*context_, exchange, target, std::move(origin), std::move(pass));
    }
    return {};
  });
  if (!status.ok()) answer_error(exchange, status);
}

}  // namespace atl::frontends::tfserving
