#include "frontends/console/console_routes.h"

#include <string>
#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/stop_executor.h"
#include "frontends/common/http/entity_tag.h"

namespace atl::frontends::console {
namespace {

constexpr std::string_view kFolder = "/console/";
constexpr std::string_view kOverview = "/v2/console/overview";
constexpr std::string_view kModels = "/v2/console/models";

/// Names of models come from outside: whatever a browser makes of one, nothing but the page's own files runs, and
/// nothing is loaded from elsewhere.
constexpr HttpHeader kSafety[] = {
    {"content-security-policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"x-content-type-options", "nosniff"},
    {"x-frame-options", "DENY"},
    {"referrer-policy", "no-referrer"},
    {"cross-origin-opener-policy", "same-origin"},
    {"cross-origin-resource-policy", "same-origin"}};

std::vector<HttpHeader> headers_with(std::initializer_list<HttpHeader> others) {
  std::vector<HttpHeader> all(std::begin(kSafety), std::end(kSafety));
  all.insert(all.end(), others);
  return all;
}

void answer_json(HttpExchange& exchange, int status, std::string body) {
  const std::vector<HttpHeader> headers = headers_with({{"cache-control", "no-store"}});
  exchange.answer({.status = status, .content_type = "application/json", .headers = headers},
                  std::move(body));
}

void answer_failure(HttpExchange& exchange, const Status& status) {
  const int code = status.code() == Code::kInvalidArgument    ? 400
                   : status.code() == Code::kPermissionDenied ? 403
                   : status.code() == Code::kNotFound         ? 404
                   : status.code() == Code::kUnavailable      ? 503
                                                              : 500;
  answer_json(exchange, code, error_json(status.message()));
}

}  // namespace

Status ConsoleRoutes::start() {
  Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
  if (!catalog.ok()) return std::move(catalog).status();
  Result<SerialExecutorPtr> slow = host_.executors().create("console", {});
  if (!slow.ok()) return std::move(slow).status();
  ATOLL_RETURN_IF_ERROR(callers_.open());
  catalog_ = std::move(catalog).value();
  slow_ = std::move(slow).value();
  view_.emplace(*catalog_, host_.clock());
  server_ = {host_.server_version(), host_.clock().wall_ns()};
  return {};
}

void ConsoleRoutes::stop() {
  stop_executor(slow_);
  view_.reset();
  callers_.close();
  catalog_.reset();
}

std::vector<HttpRoute> ConsoleRoutes::routes() const noexcept {
  const std::string category(kCategory);
  return {{"/console", kHttpGet | kHttpHead, category},
          {"/console/*", kHttpGet | kHttpHead, category},
          {std::string(kOverview), kHttpGet, category},
          {std::string(kModels), kHttpGet, category}};
}

void ConsoleRoutes::handle(std::string_view route, HttpExchange& exchange) noexcept {
  Pass pass(host_.gate());
  if (!pass) return exchange.answer({.status = 503, .content_type = "application/json"}, {});
  // Whether the exchange is taken over: what fails before that is answered here.
  const Status status = guarded("reading the head", [&]() -> Status {
    take(route, exchange, std::move(pass));
    return {};
  });
  if (!status.ok()) answer_failure(exchange, status);
}

void ConsoleRoutes::take(std::string_view route, HttpExchange& exchange, Pass pass) {
  const bool is_overview = route == kOverview;
  if (!is_overview && route != kModels && route != "/console" && route != "/console/*")
    return answer_json(exchange, 404, error_json("There is no such path."));
  if (const std::string why = callers_.refusal(exchange); !why.empty())
    return answer_json(exchange, 403, error_json(why));
  if (!is_overview && route != kModels) return answer_file(exchange);
  Result<ModelsQuery> query = ModelsQuery::parse(is_overview ? std::string_view() : exchange.query());
  if (!query.ok()) return answer_failure(exchange, query.status());
  slow_->post(make_task(
      [this, &exchange, is_overview, query = std::move(query).value(), pass = std::move(pass)]() mutable {
        const Status status = guarded("looking at the models", [&]() -> Status {
          is_overview ? answer_overview(exchange) : answer_models(exchange, query);
          return {};
        });
        if (!status.ok()) answer_failure(exchange, status);
      }));
}

void ConsoleRoutes::answer_file(HttpExchange& exchange) const {
  const std::string_view path = exchange.path();
  // The page's own links count from its folder only if the address ends with the slash.
  if (path == "/console") {
    const std::vector<HttpHeader> headers = headers_with({{"location", kFolder}});
    return exchange.answer({.status = 308, .headers = headers}, {});
  }
  const PageFile* const file = path.starts_with(kFolder) ? files_.find(path.substr(kFolder.size())) : nullptr;
  if (file == nullptr) return answer_json(exchange, 404, error_json("There is no such file."));
  const std::vector<HttpHeader> headers =
      headers_with({{"cache-control", "no-cache"}, {"etag", file->entity_tag}});
  if (has_already(exchange, file->entity_tag))
    return exchange.answer({.status = 304, .headers = headers}, {});
  exchange.answer({.content_type = file->content_type, .headers = headers}, std::string(file->content));
}

void ConsoleRoutes::answer_overview(HttpExchange& exchange) {
  const Identity* const identity = exchange.identity();
  if (identity != nullptr && !identity->may_all(ApiCategory::kOther, kCategory))
    return answer_json(exchange, 403, error_json("The overview is of all models; this caller may see some."));
  const Result<const CatalogLook*> look = view_->look();
  if (!look.ok()) return answer_failure(exchange, look.status());
  answer_json(exchange, 200, overview_json(*look.value(), server_));
}

void ConsoleRoutes::answer_models(HttpExchange& exchange, const ModelsQuery& query) {
  const Result<const CatalogLook*> look = view_->look();
  if (!look.ok()) return answer_failure(exchange, look.status());
  answer_json(exchange, 200, models_json(*look.value(), query, exchange.identity()));
}

}  // namespace atl::frontends::console
