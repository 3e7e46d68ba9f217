#include "schedulers/ensemble/ensemble_scheduler.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "model_config.pb.h"
#include "schedulers/common/scheduler_messages.h"

namespace atl::ensemble {
namespace {

/// Runs that wait for the next request, of one ensemble, and the memory that they may have by it: each of their
/// steps has about that much.
constexpr size_t kKeptRunsMax = 64, kKeptRunsBytes = size_t{4} << 20, kStepBytes = 8192;

/// A thread's stay in drive().
struct Drive {
  const EnsembleScheduler* scheduler;
  StepList* due;
  Drive* outer;
};
/// Of trivial type, so it does not keep the plugin mapped.
thread_local Drive* innermost_drive = nullptr;

}  // namespace

EnsembleScheduler::EnsembleScheduler(const SchedulerContext& context, const inference::ModelConfig& config,
                                     StepGraph graph, const EnsembleSettings& settings,
                                     schedulers::AnswerThread answer_thread)
    : graph_(std::move(graph)),
      batches_(context.max_batch_size > 0),
      clock_(*context.clock),
      reporter_(*context.reporter),
      kept_runs_max_(
          std::clamp<size_t>(kKeptRunsBytes / (kStepBytes * graph_.steps.size() + 1), 1, kKeptRunsMax)),
      memory_(*settings.pool, *settings.memory, settings.tensor_memory_bytes),
      gates_(graph_.steps.size(), graph_.max_inflight_requests),
      entrance_(uint64_t{graph_.max_inflight_requests} * graph_.steps.size(), settings.queue_size_max,
                memory_),
      answer_thread_(std::move(answer_thread)) {
  for (const auto& output : config.output()) {
    const auto& dims = output.has_reshape() ? output.reshape().shape() : output.dims();
    output_dims_.emplace_back(dims.begin(), dims.end());
  }
  std::vector<uint32_t> all(graph_.outputs.size());
  std::iota(all.begin(), all.end(), 0U);
  full_plan_.make(graph_, all);
  kept_.reserve(kept_runs_max_);
}

EnsembleScheduler::~EnsembleScheduler() { schedulers::wait_until_nobody_is_inside(inside_); }

Status EnsembleScheduler::enqueue(Request& request) noexcept {
  const schedulers::Inside inside = stay();
  // A request that is being executed may need its steps to end.
  const bool is_step = (request.call_flags & kIsStep) != 0;
  if (!is_step && stopping_.load(std::memory_order_relaxed)) return unavailable(schedulers::kStoppingText);
  if (request.times.queue_start_ns == 0) request.times.queue_start_ns = clock_.now_ns();
  EnsembleRun& run = take_run();
  run.take(request);
  switch (entrance_.enter(run)) {
    case Entrance::Outcome::kWaits:
      return {};
    case Entrance::Outcome::kFull:
      keep_run(run);
      return schedulers::unavailable_for(request, schedulers::kQueueFullText);
    case Entrance::Outcome::kEntered:
      break;
  }
  StepList due;
  run.start(false, due);
  drive(due);
  return {};
}

StepList* EnsembleScheduler::running_here() const noexcept {
  for (const Drive* drive = innermost_drive; drive != nullptr; drive = drive->outer) {
    if (drive->scheduler == this) return drive->due;
  }
  return nullptr;
}

void EnsembleScheduler::drive(StepList& due) noexcept {
  Drive here{this, &due, innermost_drive};
  innermost_drive = &here;
  run_all(due);
  innermost_drive = here.outer;
}

void EnsembleScheduler::run_all(StepList& due) noexcept {
  for (;;) {
    while (StepRun* step = due.pop_front()) {
      EnsembleRun& run = step->run();
      if (step->submit(*graph_.steps[step->step].model)) run.step_ended(*step, due);
    }
    EnsembleRun* entered = entrance_.next();
    if (entered == nullptr) return;
    entered->start(true, due);
  }
}

EnsembleRun& EnsembleScheduler::take_run() {
  {
    std::scoped_lock lock(mutex_);
    if (!kept_.empty()) {
      EnsembleRun* run = kept_.back().release();
      kept_.pop_back();
      return *run;
    }
  }
  return *new EnsembleRun(*this);
}

void EnsembleScheduler::keep_run(EnsembleRun& run) noexcept {
  std::unique_ptr<EnsembleRun> owned(&run);
  std::scoped_lock lock(mutex_);
  if (kept_.size() < kept_runs_max_) kept_.push_back(std::move(owned));
}

void EnsembleScheduler::run_ended(EnsembleRun& run, uint64_t bytes) noexcept {
  keep_run(run);
  entrance_.leave(bytes);
}

}  // namespace atl::ensemble
