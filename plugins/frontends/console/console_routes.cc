#include "frontends/console/console_routes.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/log_control.h"
#include "atoll/core/stop_executor.h"
#include "atoll/lib/header_values.h"
#include "frontends/common/http/accept_item.h"
#include "frontends/common/http/entity_tag.h"
#include "frontends/common/http/header_name.h"
#include "frontends/console/brought/brought_pages.h"
#include "frontends/console/counts/sequences_json.h"
#include "frontends/console/counts/tenants_json.h"
#include "frontends/console/manifest/manifest_calls.h"
#include "frontends/console/memory/memory_json.h"
#include "frontends/console/traces/traces_json.h"
#include "frontends/console/waits/waiting_acts.h"
#include "frontends/console/waits/waiting_json.h"

namespace atl::frontends::console {
namespace {

constexpr std::string_view kFolder = "/console/";
/// Of files that other plugins bring.
constexpr std::string_view kBrought = "pages/";
constexpr std::string_view kOverview = "/v2/console/overview";
constexpr std::string_view kModels = "/v2/console/models";
constexpr std::string_view kHistory = "/v2/console/history";
constexpr std::string_view kEnsembles = "/v2/console/ensembles";
constexpr std::string_view kPlugins = "/v2/console/plugins";
constexpr std::string_view kCaller = "/v2/console/caller";
constexpr std::string_view kTimeline = "/v2/console/timeline";
constexpr std::string_view kTenants = "/v2/console/tenants";
constexpr std::string_view kSequences = "/v2/console/sequences";
constexpr std::string_view kWaiting = "/v2/console/waiting";
constexpr std::string_view kPages = "/v2/console/pages";
constexpr std::string_view kMemory = "/v2/console/memory";
constexpr std::string_view kTraces = "/v2/console/traces";
constexpr std::string_view kLog = "/v2/console/log";
constexpr std::string_view kOptions = "/v2/console/options";
constexpr std::string_view kManifest = "/v2/console/manifest";
constexpr std::string_view kCheck = "/v2/console/manifest/check";
constexpr std::string_view kApply = "/v2/console/manifest/apply";
constexpr std::string_view kCancel = "/v2/console/waiting/cancel";
constexpr std::string_view kDrain = "/v2/console/waiting/drain";
constexpr std::string_view kCalls[] = {kOverview, kModels,   kHistory,   kTimeline, kEnsembles, kPlugins,
                                       kCaller,   kTenants,  kSequences, kWaiting,  kTraces,    kLog,
                                       kOptions,  kManifest, kMemory,    kPages};
/// What is done, and asked for by POST.
constexpr std::string_view kActs[] = {kCheck, kApply, kCancel, kDrain};
/// Looks for the history may take 1 % of a processor.
constexpr int64_t kHistoryPause = 100;
constexpr int64_t kShortestHistoryNs = 50 * kNsPerMs;
/// It stands back behind the threads that answer requests.
constexpr int32_t kNice = 10;

constexpr std::string_view kFull =
    "As many pages of the console are open as there may be, which is 16. This one goes on within 10 s after one of "
    "them was closed or hidden.";
constexpr std::string_view kSeesSome = "This is of all models; the caller may see some.";

constexpr std::string_view kUnknownCaller =
    "The server does not know who calls, so the console only reads. Add a source of identities, such as security/keys.";
constexpr std::string_view kActsOnSome =
    "This is of the whole server; the caller has console.act for some models.";

bool contains(std::span<const std::string_view> all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool accepts_gzip(const HttpExchange& exchange) {
  for (std::string_view value : header_values(exchange, "accept-encoding")) {
    http::AcceptItem item;
    while (http::next_accept_item(&value, &item)) {
      if (is_named(item.name, "gzip") && item.weight > 0) return true;
    }
  }
  return false;
}

}  // namespace

ConsoleRoutes::ConsoleRoutes(Host& host, CallerRules rules, int64_t history_ns)
    : host_(host),
      history_ns_(history_ns),
      callers_(host, std::move(rules)),
      ring_(host),
      timeline_(host),
      recorder_(host, timeline_),
      instances_(host),
      control_(host) {}

Status ConsoleRoutes::start() {
  Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
  if (!catalog.ok()) return std::move(catalog).status();
  ThreadPlacement placement;
  placement.nice = kNice;
  Result<SerialExecutorPtr> slow = host_.executors().create("console", placement);
  if (!slow.ok()) return std::move(slow).status();
  ATOLL_RETURN_IF_ERROR(callers_.open());
  ATOLL_RETURN_IF_ERROR(control_.open());
  ATOLL_RETURN_IF_ERROR(ring_.open());
  ATOLL_RETURN_IF_ERROR(timeline_.open());
  ATOLL_RETURN_IF_ERROR(recorder_.open());
  ATOLL_RETURN_IF_ERROR(instances_.open());
  catalog_ = std::move(catalog).value();
  slow_ = std::move(slow).value();
  view_.emplace(*catalog_, host_.clock());
  counts_.emplace(host_.registry(), host_.clock());
  server_ = {host_.server_version(), process_start(host_.clock().wall_ns() / kNsPerMs), {}};
  sampler_.emplace(*catalog_, host_.clock(), ring_);
  if (history_ns_ > 0) slow_->post_at(host_.clock().now_ns() + history_ns_, make_task([this] { sample(); }));
  return {};
}

void ConsoleRoutes::stop() {
  stop_executor(slow_);
  sampler_.reset();
  counts_.reset();
  view_.reset();
  instances_.close();
  recorder_.close();
  timeline_.close();
  ring_.close();
  control_.close();
  callers_.close();
  catalog_.reset();
}

std::vector<HttpRoute> ConsoleRoutes::routes() const noexcept {
  const std::string page(kPageCategory);
  std::vector<HttpRoute> routes = {{"/console", kHttpGet | kHttpHead, page},
                                   {"/console/*", kHttpGet | kHttpHead, page}};
  for (const std::string_view call : kCalls)
    routes.push_back({std::string(call), kHttpGet, std::string(kCategory)});
  for (const std::string_view act : kActs)
    routes.push_back({std::string(act), kHttpPost, std::string(kActCategory)});
  return routes;
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
  const bool is_file = route == "/console" || route == "/console/*";
  if (!is_file && !contains(kCalls, route) && !contains(kActs, route))
    return answer_json(exchange, 404, error_json("There is no such path."));
  if (const std::string why = callers_.refusal(exchange); !why.empty())
    return answer_json(exchange, 403, error_json(why));
  if (is_file) return answer_file(exchange);
  if (!callers_.admits(exchange)) return answer_json(exchange, 503, error_json(kFull));
  if (contains(kActs, route) && !callers_.may_act(exchange))
    return answer_json(exchange, 403, error_json(kUnknownCaller));
  if (route == kCancel)
    return answer_asked<CancelQuery>(exchange, std::move(pass),
                                     [](ConsoleRoutes& self, HttpExchange& to, const CancelQuery& query) {
                                       cancel_waiting(self.host_, to, query, self.server_.start);
                                     });
  if (route == kDrain)
    return answer_asked<DrainQuery>(exchange, std::move(pass),
                                    [](ConsoleRoutes& self, HttpExchange& to, const DrainQuery& query) {
                                      drain_model(self.host_, to, query, self.server_.start);
                                    });
  if (route == kPlugins) return answer_plugins(exchange);
  if (route == kOptions || route == kManifest || contains(kActs, route))
    return take_manifest(route, exchange, std::move(pass));
  if (route == kPages) return answer_json(exchange, 200, pages_json(host_.registry(), server_.start));
  if (route == kCaller) return answer_json(exchange, 200, caller_json(facts(exchange), exchange.identity()));
  if (route == kOverview)
    return answer_later(exchange, std::move(pass), [this](HttpExchange& to) { answer_overview(to); });
  if (route == kMemory)
    return answer_later(exchange, std::move(pass), [this](HttpExchange& to) {
      if (!may_see_all(to.identity())) return answer_json(to, 403, error_json(kSeesSome));
      const Result<const CatalogLook*> look = this->look();
      if (!look.ok()) return answer_failure(to, look.status());
      answer_memory(host_, to, *look.value(), server_.start);
    });
  if (route == kEnsembles)
    return answer_later(exchange, std::move(pass), [this](HttpExchange& to) { answer_ensembles(to); });
  if (route == kTenants || route == kSequences)
    return answer_later(exchange, std::move(pass), [this, is_tenants = route == kTenants](HttpExchange& to) {
      answer_counts(to, is_tenants);
    });
  if (route == kWaiting)
    return answer_later(exchange, std::move(pass), [this](HttpExchange& to) { answer_waiting(to); });
  if (route == kTraces)
    return answer_asked<TracesQuery>(exchange, std::move(pass),
                                     [](ConsoleRoutes& self, HttpExchange& to, const TracesQuery& query) {
                                       answer_traces(self.host_, to, query, self.server_.start);
                                     });
  if (route == kLog) return answer_asked<LogQuery>(exchange, std::move(pass), &ConsoleRoutes::answer_log);
  if (route == kModels)
    return answer_asked<ModelsQuery>(exchange, std::move(pass), &ConsoleRoutes::answer_models);
  if (route == kTimeline)
    return answer_asked<TimelineQuery>(exchange, std::move(pass), &ConsoleRoutes::answer_timeline);
  answer_asked<HistoryQuery>(exchange, std::move(pass), &ConsoleRoutes::answer_history);
}

template <class Query, class Answer>
void ConsoleRoutes::answer_asked(HttpExchange& exchange, Pass pass, Answer answer) {
  Result<Query> query = Query::parse(exchange.query());
  if (!query.ok()) return answer_failure(exchange, query.status());
  answer_later(exchange, std::move(pass), [this, answer, query = std::move(query).value()](HttpExchange& to) {
    std::invoke(answer, *this, to, query);
  });
}

template <class Answer>
void ConsoleRoutes::answer_later(HttpExchange& exchange, Pass pass, Answer answer) {
  slow_->post(make_task([&exchange, answer = std::move(answer), pass = std::move(pass)]() mutable {
    const Status status = guarded("looking at the models", [&]() -> Status {
      answer(exchange);
      return {};
    });
    if (!status.ok()) answer_failure(exchange, status);
  }));
}

void ConsoleRoutes::sample() {
  const Pass pass(host_.gate());
  if (!pass) return;  // a successor goes on
  const int64_t took_ns = sampler_->look();
  slow_->post_at(
      host_.clock().now_ns() + std::max({history_ns_, kShortestHistoryNs, kHistoryPause * took_ns}),
      make_task([this] { sample(); }));
}

void ConsoleRoutes::answer_file(HttpExchange& exchange) const {
  const std::string_view path = exchange.path();
  // The page's own links count from its folder only if the address ends with the slash.
  if (path == "/console") {
    const std::vector<HttpHeader> headers = headers_with({{"location", kFolder}});
    return exchange.answer({.status = 308, .headers = headers}, {});
  }
  const std::string_view name =
      path.starts_with(kFolder) ? path.substr(kFolder.size()) : std::string_view("?");
  std::optional<BroughtFile> brought;
  if (name.starts_with(kBrought)) brought = find_brought(host_.registry(), name.substr(kBrought.size()));
  const PageFile* const file = brought ? &brought->file : files_.find(name);
  if (file == nullptr) return answer_json(exchange, 404, error_json("There is no such file."));
  const bool is_packed = !file->gzip.content.empty() && accepts_gzip(exchange);
  const PageFile::Form& form = is_packed ? file->gzip : file->plain;
  std::vector<HttpHeader> headers =
      headers_with({{"cache-control", "no-cache"}, {"vary", "accept-encoding"}, {"etag", form.entity_tag}});
  if (has_already(exchange, form.entity_tag)) return exchange.answer({.status = 304, .headers = headers}, {});
  if (is_packed) headers.push_back({"content-encoding", "gzip"});
  exchange.answer({.content_type = file->content_type, .headers = headers}, std::string(form.content));
}

Result<const CatalogLook*> ConsoleRoutes::look() {
  Result<const CatalogLook*> look = view_->look();
  if (look.ok()) recorder_.note_failures(*look.value());
  return look;
}

ServerFacts ConsoleRoutes::facts(const HttpExchange& exchange) const {
  ServerFacts facts = server_;
  facts.may_act = callers_.may_act(exchange);
  if (const auto control = control_.hold()) facts.control = control->mode();
  return facts;
}

void ConsoleRoutes::answer_overview(HttpExchange& exchange) {
  if (!may_see_all(exchange.identity())) return answer_json(exchange, 403, error_json(kSeesSome));
  const Result<const CatalogLook*> look = this->look();
  if (!look.ok()) return answer_failure(exchange, look.status());
  answer_json(exchange, 200, overview_json(*look.value(), facts(exchange)));
}

void ConsoleRoutes::answer_models(HttpExchange& exchange, const ModelsQuery& query) {
  const Result<const CatalogLook*> look = this->look();
  if (!look.ok()) return answer_failure(exchange, look.status());
  answer_json(exchange, 200, models_json(*look.value(), query, facts(exchange), exchange.identity()));
}

void ConsoleRoutes::answer_history(HttpExchange& exchange, const HistoryQuery& query) {
  const Identity* const identity = exchange.identity();
  const HistoryView view = ring_.view();
  if (query.model.empty()) {
    if (!may_see_all(identity)) return answer_json(exchange, 403, error_json(kSeesSome));
    return answer_json(exchange, 200, history_json(view, server_.start));
  }
  // A model that may not be seen is one that the history knows nothing of.
  const bool may = may_see(identity, query.model);
  answer_json(exchange, 200,
              history_json(may ? view : HistoryView(), server_.start, query.model, query.version));
}

void ConsoleRoutes::answer_timeline(HttpExchange& exchange, const TimelineQuery& query) {
  // Some failures are found by a look at the models. Without one there is what was heard.
  (void)look();
  answer_json(exchange, 200,
              timeline_json(timeline_.view(), query, server_.start, host_.clock().wall_ns() / kNsPerMs,
                            exchange.identity()));
}

void ConsoleRoutes::answer_ensembles(HttpExchange& exchange) {
  const Result<const CatalogLook*> look = this->look();
  if (!look.ok()) return answer_failure(exchange, look.status());
  answer_json(exchange, 200, ensembles_json(*look.value(), view_->ensembles(), exchange.identity()));
}

void ConsoleRoutes::answer_plugins(HttpExchange& exchange) const {
  if (!may_see_all(exchange.identity())) return answer_json(exchange, 403, error_json(kSeesSome));
  answer_json(exchange, 200, instances_json(instances_.view(), server_.start));
}

void ConsoleRoutes::take_manifest(std::string_view route, HttpExchange& exchange, Pass pass) {
  const Identity* const identity = exchange.identity();
  if (contains(kActs, route)) {
    if (identity != nullptr && !identity->may_all(ApiCategory::kOther, kActCategory))
      return answer_json(exchange, 403, error_json(kActsOnSome));
  } else if (!may_see_all(identity)) {
    return answer_json(exchange, 403, error_json(kSeesSome));
  }
  if (route == kOptions)
    return answer_later(exchange, std::move(pass),
                        [this](HttpExchange& to) { answer_options(host_, to, server_.start); });
  if (route == kApply) {
    const auto last = timeline_.newest([](const TimelineEntry&) { return true; });
    return apply_manifest(host_, exchange, last == nullptr ? 0 : last->number, server_.start);
  }
  std::optional<std::string> text;
  if (route == kCheck) {
    const std::span<const std::byte> body = exchange.body();
    text.emplace(reinterpret_cast<const char*>(body.data()), body.size());
  }
  compare_manifest(host_, exchange, std::move(pass), std::move(text), server_.start);
}

void ConsoleRoutes::answer_counts(HttpExchange& exchange, bool is_tenants) {
  const CountReading& reading = counts_->read();
  const auto answer = is_tenants ? tenants_json : sequences_json;
  answer_json(exchange, 200, answer(reading, server_.start, exchange.identity()));
}

void ConsoleRoutes::answer_waiting(HttpExchange& exchange) {
  const Result<const CatalogLook*> look = this->look();
  if (!look.ok()) return answer_failure(exchange, look.status());
  const Result<Service<ModelQueues>> queues = host_.registry().find<ModelQueues>();
  answer_json(
      exchange, 200,
      waiting_json({*look.value(), *catalog_, queues.ok() ? &*queues.value() : nullptr, counts_->read(),
                    host_.clock().now_ns(), server_.start, exchange.identity(), callers_.may_act(exchange)}));
}

void ConsoleRoutes::answer_log(HttpExchange& exchange, const LogQuery& query) {
  if (!may_see_all(exchange.identity())) return answer_json(exchange, 403, error_json(kSeesSome));
  const Result<Service<LogControl>> log = host_.registry().find<LogControl>();
  if (!log.ok()) return answer_failure(exchange, log.status());
  answer_json(exchange, 200, log_json(read_log(log.value()->settings().file, query)));
}

}  // namespace atl::frontends::console
