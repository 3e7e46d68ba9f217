#include "schedulers/dynamic/dynamic_provider.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <map>
#include <string_view>
#include <utility>

#include "atoll/proto/parse_model_config.h"
#include "schedulers/common/batch/scheduling_config.h"
#include "schedulers/dynamic/custom/strategy_file.h"

namespace atl::schedulers {
namespace {

constexpr char kLatencyTarget[] = "latency_target_microseconds";
constexpr int64_t kLatencyTargetMaxUs = 3'600'000'000;

}  // namespace

Result<BatchSettings> DynamicProvider::batch_settings(const SchedulerContext& context) {
  inference::ModelConfig config;
  if (!proto::parse_model_config(context.config, &config)) {
    return internal_error("the configuration of model '", context.model_name, "' cannot be read");
  }
  const inference::ModelDynamicBatching& batching = config.dynamic_batching();
  BatchSettings settings;
  settings.queue = queue_policies_from(batching);
  settings.queue.size_max = settings_.queue_size_max;
  settings.rules.size_max = std::max(1u, context.max_batch_size);
  settings.rules.delay_ns = duration_ns_from(batching.max_queue_delay_microseconds());
  settings.rules.preferred_sizes =
      preferred_sizes_from(batching.preferred_batch_size(), settings.rules.size_max);
  settings.compatibility = batch_compatibility_from(config);
  settings.preserve_ordering = batching.preserve_ordering();
  settings.hold_until = settings_.hold_until;
  settings.dispatcher = settings_.dispatcher;
  ATOLL_RETURN_IF_ERROR(add_latency_target(context, config, &settings));
  auto strategy = open_strategy(context, config);
  if (!strategy.ok()) return std::move(strategy).status();
  settings.strategy = std::move(strategy).value();
  return settings;
}

Result<std::unique_ptr<BatchStrategy>> DynamicProvider::open_strategy(const SchedulerContext& context,
                                                                      const inference::ModelConfig& config) {
  try {
    Result<std::string> path = find_strategy_file(context, config, settings_.backend_directory);
    if (!path.ok()) return std::move(path).status();
    if (path->empty()) return std::unique_ptr<BatchStrategy>();
    return strategies_.open(context, path.value(), log_);
  } catch (const std::exception& exception) {
    return internal_error("batching strategy: ", exception.what());
  }
}

Status DynamicProvider::add_latency_target(const SchedulerContext& context,
                                           const inference::ModelConfig& config, BatchSettings* settings) {
  auto parameter = config.parameters().find(kLatencyTarget);
  if (parameter == config.parameters().end()) return {};
  const std::string& text = parameter->second.string_value();
  int64_t target_us = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), target_us);
  if (error != std::errc() || end != text.data() + text.size() || target_us < 1 ||
      target_us > kLatencyTargetMaxUs) {
    return invalid_argument("parameter '", kLatencyTarget, "' of model '", context.model_name,
                            "' must be a whole number of microseconds from 1 to ", kLatencyTargetMaxUs,
                            ", got '", text, "'");
  }
  auto report = std::make_shared<LatencyTargetReport>();
  report->model = context.model_name;
  report->version = context.model_version;
  report->target_ns = target_us * kNsPerUs;
  settings->tuner = std::make_unique<LatencyTarget>(report, settings->rules.size_max,
                                                    static_cast<uint32_t>(context.instances.size()));
  std::lock_guard lock(mutex_);
  std::erase_if(reports_, [](const auto& known) { return known.expired(); });
  reports_.push_back(std::move(report));
  return {};
}

Result<std::unique_ptr<Scheduler>> DynamicProvider::create(const SchedulerContext& context) noexcept {
  Result<AnswerThread> answer_thread = answer_threads_.get(*context.executors);
  if (!answer_thread.ok()) return std::move(answer_thread).status();
  Result<BatchSettings> settings = batch_settings(context);
  if (!settings.ok()) return std::move(settings).status();
  return BatchScheduler::create(context, std::move(settings).value(), std::move(answer_thread).value());
}

void DynamicProvider::collect(MetricSink& sink) const noexcept {
  // While a version is reloaded there are two of it, and the newer one counts.
  std::map<std::pair<std::string_view, int64_t>, std::shared_ptr<const LatencyTargetReport>> reports;
  {
    std::lock_guard lock(mutex_);
    for (auto known = reports_.rbegin(); known != reports_.rend(); ++known) {
      auto report = known->lock();
      if (report != nullptr) reports.try_emplace({report->model, report->version}, report);
    }
  }
  auto family = [&](std::string_view name, std::string_view help, MetricKind kind, auto&& value) {
    sink.family(name, help, kind);
    for (const auto& [key, report] : reports) {
      std::string version = cat(report->version);
      MetricLabel labels[] = {{"model", report->model}, {"version", version}};
      sink.sample(labels, value(*report));
    }
  };
  using Report = LatencyTargetReport;
  family("atoll_batch_latency_target_seconds", "Latency target of the model's batcher", MetricKind::kGauge,
         [](const Report& report) { return static_cast<double>(report.target_ns) / 1e9; });
  family("atoll_batch_size_limit", "Largest batch the batcher forms to keep its latency target",
         MetricKind::kGauge,
         [](const Report& report) { return static_cast<double>(report.size_max.load()); });
  family("atoll_batch_delay_seconds", "How long the batcher lets a batch wait for more requests",
         MetricKind::kGauge,
         [](const Report& report) { return static_cast<double>(report.delay_ns.load()) / 1e9; });
  family("atoll_batch_shed_requests_total",
         "Requests refused because they would have missed the latency target", MetricKind::kCounter,
         [](const Report& report) { return static_cast<double>(report.shed.load()); });
}

}  // namespace atl::schedulers
