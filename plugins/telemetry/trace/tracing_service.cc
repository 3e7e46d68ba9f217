#include "telemetry/trace/tracing_service.h"

#include <utility>

namespace atl::tracing {
namespace {

std::unique_ptr<const ScopeSnapshot> first_snapshot(const Config& config) {
  auto snapshot = std::make_unique<ScopeSnapshot>();
  snapshot->global = std::make_shared<Scope>(config.defaults);
  return snapshot;
}

/// What counts against the manifest or the server's values, with the count as far as it has gone down.
OwnValues current_own(OwnValues own, const Scope& scope) {
  if (own.count) own.count = scope.current().count;
  return own;
}

bool takes_traces(const ScopeSnapshot& snapshot) {
  if (snapshot.global->values().level != kOff) return true;
  for (const auto& [name, model] : snapshot.models) {
    if (model.scope->values().level != kOff) return true;
  }
  return false;
}

Result<std::shared_ptr<Scope>> make_scope(const SettingValues& values, const Config& config) {
  ATOLL_RETURN_IF_ERROR(check(values, config));
  return std::make_shared<Scope>(values);
}

}  // namespace

TracingService::TracingService(const Config& config, BackgroundExporter& exporter, const ExportCounts& counts,
                               const Clock& clock, Gate& gate, IdSource& ids)
    : config_(config),
      exporter_(exporter),
      counts_(counts),
      gate_(gate),
      ids_(ids),
      opentelemetry_(config.mode == Mode::kOpenTelemetry),
      scopes_(first_snapshot(config)),
      recorder_context_{
          exporter, clock, ids_, next_id_, opentelemetry_, config.tensor_bytes_max, config.trace_bytes_max} {
  on_.store(takes_traces(scopes_.current()));
}

Trace* TracingService::start(const TraceStart& request) noexcept {
  if (!on_.load(std::memory_order_relaxed)) return nullptr;
  std::optional<TraceContext> parent;
  if (opentelemetry_ && !request.traceparent.empty()) parent = parse_traceparent(request.traceparent);
  std::shared_ptr<Scope> scope;
  Sampled sampled = scopes_.sample(request.model, parent.has_value(), &scope);
  if (sampled == Sampled::kNo) return nullptr;
  Pass pass(gate_);
  if (!pass) {
    scope->close(sampled);
    return nullptr;
  }
  started_.fetch_add(1, std::memory_order_relaxed);
  return Recorder::begin(recorder_context_, std::move(pass), std::move(scope), sampled,
                         parent ? &*parent : nullptr, request.tracestate, request.model, request.version,
                         request.request_id);
}

Result<std::vector<TraceSetting>> TracingService::settings(std::string_view model) const noexcept {
  std::lock_guard lock(mutex_);
  return shown(scopes_.current().scope_of(model)->current(), config_);
}

Result<std::unique_ptr<ScopeSnapshot>> TracingService::with_global(OwnValues own) const {
  const ScopeSnapshot& now = scopes_.current();
  auto next = std::make_unique<ScopeSnapshot>();
  next->own = own;
  Result<std::shared_ptr<Scope>> global = make_scope(own.over(config_.defaults), config_);
  if (!global.ok()) return std::move(global).status();
  next->global = std::move(global).value();
  for (const auto& [name, model] : now.models) {
    OwnValues model_own = current_own(model.own, *model.scope);
    Result<std::shared_ptr<Scope>> scope = make_scope(model_own.over(next->global->values()), config_);
    if (!scope.ok()) return std::move(scope).status();
    next->models[name] = {model_own, std::move(scope).value()};
  }
  return next;
}

Result<std::unique_ptr<ScopeSnapshot>> TracingService::with_model(std::string_view model,
                                                                  OwnValues own) const {
  auto next = std::make_unique<ScopeSnapshot>(scopes_.current());
  if (own.empty()) {
    next->models.erase(std::string(model));
    return next;
  }
  if (next->models.size() >= models_max_ && next->models.find(model) == next->models.end()) {
    return make_status(Code::kResourceExhausted, models_max_,
                       " models have trace settings of their own already");
  }
  Result<std::shared_ptr<Scope>> scope = make_scope(own.over(next->global->current()), config_);
  if (!scope.ok()) return std::move(scope).status();
  next->models[std::string(model)] = {own, std::move(scope).value()};
  return next;
}

Status TracingService::update(std::string_view model, std::span<const TraceSetting> changes) noexcept {
  std::lock_guard lock(mutex_);
  const ScopeSnapshot& now = scopes_.current();
  OwnValues before = current_own(now.own, *now.global);
  if (!model.empty()) {
    auto found = now.models.find(model);
    before = found == now.models.end() ? OwnValues() : current_own(found->second.own, *found->second.scope);
  }
  Result<OwnValues> own = changed(before, changes);
  if (!own.ok()) return std::move(own).status();
  auto next = model.empty() ? with_global(own.value()) : with_model(model, own.value());
  if (!next.ok()) return std::move(next).status();
  publish(std::move(next).value());
  return {};
}

ClientSettings TracingService::client_settings() const {
  std::lock_guard lock(mutex_);
  const ScopeSnapshot& now = scopes_.current();
  ClientSettings settings{current_own(now.own, *now.global), {}};
  for (const auto& [name, model] : now.models) settings.models[name] = current_own(model.own, *model.scope);
  return settings;
}

std::vector<std::string> TracingService::take_over(const ClientSettings& settings) {
  std::lock_guard lock(mutex_);
  std::vector<std::string> left_out;
  auto take = [&](Result<std::unique_ptr<ScopeSnapshot>> next, const std::string& whose) {
    if (next.ok()) {
      publish(std::move(next).value());
    } else {
      left_out.push_back(whose);
    }
  };
  if (!settings.global.empty()) take(with_global(settings.global), {});
  for (const auto& [name, own] : settings.models) take(with_model(name, own), name);
  return left_out;
}

void TracingService::publish(std::unique_ptr<ScopeSnapshot> next) {
  on_.store(takes_traces(*next), std::memory_order_relaxed);
  std::unique_ptr<const ScopeSnapshot> before = scopes_.publish(std::move(next));
  const ScopeSnapshot& now = scopes_.current();
  if (before->global != now.global) before->global->retire();
  for (const auto& [name, model] : before->models) {
    if (model.scope != now.scope_of(name)) model.scope->retire();
  }
  exporter_.scopes_changed();
}

std::vector<TraceSummary> TracingService::slowest() const noexcept {
  return slowest_ == nullptr ? std::vector<TraceSummary>()
                             : slowest_->slowest(recorder_context_.clock.now_ns());
}

Result<FinishedTrace> TracingService::find(uint64_t id) const noexcept {
  if (slowest_ == nullptr) return not_found("trace ", id, " is not kept");
  return slowest_->find(id, recorder_context_.clock.now_ns());
}

void TracingService::collect(MetricSink& sink) const noexcept {
  auto count = [&](std::string_view name, std::string_view help, const std::atomic<uint64_t>& value) {
    sink.family(name, help, MetricKind::kCounter);
    sink.sample({}, static_cast<double>(value.load(std::memory_order_relaxed)));
  };
  count("atoll_traces_started_total", "Requests that were sampled for tracing", started_);
  count("atoll_traces_exported_total", "Traces written to a file or accepted by the collector",
        counts_.exported);
  count("atoll_traces_dropped_total", "Traces lost because too many waited or they could not be written",
        counts_.dropped);
}

}  // namespace atl::tracing
