#include "schedulers/common/sequence/sequence_provider.h"

#include <algorithm>
#include <map>
#include <utility>

#include "atoll/proto/parse_model_config.h"
#include "schedulers/common/sequence/hold_variable.h"
#include "schedulers/common/sequence/sequence_config.h"

namespace atl::schedulers {
namespace {

/// One model version, summed up over what there is of it: while it is reloaded, there are two.
struct Sum {
  uint64_t open = 0, slots = 0, backlog = 0;
  int64_t backlog_since_ns = 0;              // the earliest
  uint64_t idle_ended = 0, rescheduled = 0;  // of the newest: counters begin anew

  void add_older(const SequenceFigures& figures) {
    open += figures.open;
    slots += figures.slots;
    backlog += figures.backlog;
    const int64_t since_ns = figures.backlog_since_ns;
    if (since_ns != 0 && (backlog_since_ns == 0 || since_ns < backlog_since_ns)) backlog_since_ns = since_ns;
  }
};

using Sums = std::map<std::pair<std::string, int64_t>, Sum>;

}  // namespace

SequenceProviderSettings sequence_provider_settings(Host& host, StateMemory& state_memory) {
  const Options& options = host.options();
  SequenceProviderSettings settings;
  settings.queue_size_max = static_cast<uint64_t>(options.get_int("max_queue_size"));
  settings.hold_until = requests_to_hold(kHoldVariable, host.log());
  settings.hold_until_backlog = requests_to_hold(kHoldBacklogVariable, host.log());
  settings.dispatcher.light_execution_ns = options.get_duration_ns("light_execution");
  settings.log = &host.log();
  settings.clock = &host.clock();
  settings.state_memory = &state_memory;
  return settings;
}

std::shared_ptr<SequenceFigures> SequenceProvider::new_figures(const SchedulerContext& context) {
  auto figures = std::make_shared<SequenceFigures>();
  figures->model = context.model_name;
  figures->version = context.model_version;
  std::lock_guard lock(mutex_);
  std::erase_if(figures_, [](const auto& known) { return known.expired(); });
  figures_.push_back(figures);
  return figures;
}

Result<std::unique_ptr<Scheduler>> SequenceProvider::create(const SchedulerContext& context) noexcept {
  Result<AnswerThread> answer_thread = answer_threads_.get(*context.executors);
  if (!answer_thread.ok()) return std::move(answer_thread).status();
  inference::ModelConfig config;
  if (!proto::parse_model_config(context.config, &config))
    return internal_error("the configuration of model '", context.model_name, "' cannot be read");
  Result<SequenceSettings> settings = sequence_settings_from(config, context.model_directory);
  if (!settings.ok()) return std::move(settings).status();
  settings->queue_size_max = settings_.queue_size_max;
  settings->hold_until = settings_.hold_until;
  settings->hold_until_backlog = settings_.hold_until_backlog;
  settings->dispatcher = settings_.dispatcher;
  settings->log = settings_.log;
  settings->state_memory = settings_.state_memory;
  settings->figures = new_figures(context);
  choose_strategy(config, &*settings);
  return SequenceScheduler::create(context, std::move(settings).value(), std::move(answer_thread).value());
}

void SequenceProvider::collect(MetricSink& sink) const noexcept {
  Sums sums;
  {
    std::lock_guard lock(mutex_);
    for (auto known = figures_.rbegin(); known != figures_.rend(); ++known) {
      const auto figures = known->lock();
      if (figures == nullptr) continue;
      const auto [sum, is_newest] = sums.try_emplace({figures->model, figures->version});
      if (is_newest) {
        sum->second.idle_ended = figures->idle_ended;
        sum->second.rescheduled = figures->rescheduled;
      }
      sum->second.add_older(*figures);
    }
  }
  const auto family = [&](std::string_view name, std::string_view help, MetricKind kind, auto&& value) {
    sink.family(name, help, kind);
    for (const auto& [key, sum] : sums) {
      std::string version = cat(key.second);
      MetricLabel labels[] = {{"model", key.first}, {"version", version}};
      sink.sample(labels, static_cast<double>(value(sum)));
    }
  };
  family("atoll_sequences_open", "Open sequences of the model, with a slot or in the backlog",
         MetricKind::kGauge, [](const Sum& sum) { return sum.open; });
  family("atoll_sequence_slots_in_use", "Slots of the model's instances that have a sequence",
         MetricKind::kGauge, [](const Sum& sum) { return sum.slots; });
  family("atoll_sequence_backlog_length", "Sequences of the model that wait for a slot", MetricKind::kGauge,
         [](const Sum& sum) { return sum.backlog; });
  const int64_t now_ns = settings_.clock->now_ns();
  family("atoll_sequence_backlog_oldest_seconds",
         "How long the first sequence of the backlog has been waiting", MetricKind::kGauge,
         [now_ns](const Sum& sum) {
           return sum.backlog_since_ns == 0 ? 0.0 : static_cast<double>(now_ns - sum.backlog_since_ns) / 1e9;
         });
  family("atoll_sequence_idle_ended_total", "Sequences ended because nothing came for too long",
         MetricKind::kCounter, [](const Sum& sum) { return sum.idle_ended; });
  family("atoll_sequence_rescheduled_total",
         "Executions after which a request of an iterative sequence went on", MetricKind::kCounter,
         [](const Sum& sum) { return sum.rescheduled; });
}

}  // namespace atl::schedulers
