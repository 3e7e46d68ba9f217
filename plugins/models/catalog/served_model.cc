#include "served_model.h"

#include <chrono>
#include <thread>
#include <utility>

#include "admitted_request.h"
#include "reshape.h"
#include "trace_inputs.h"

namespace atl::models {
namespace {

/// How often a worker looks whether a scheduler has finished with requests that were released already.
constexpr auto kSettleInterval = std::chrono::microseconds(100);

bool has_reshape(const std::vector<TensorSpec>& specs) {
  for (const TensorSpec& spec : specs) {
    if (spec.has_reshape) return true;
  }
  return false;
}

}  // namespace

ServedModel::ServedModel(ServingContext& context, ModelParts parts, CorrelationControl correlation)
    : context_(context),
      parts_(std::move(parts)),
      info_(*parts_.info),
      validator_(info_, std::move(correlation),
                 context.device_inputs == nullptr ? nullptr : &context.device_inputs->devices()),
      reshapes_outputs_(has_reshape(info_.outputs)),
      enqueueing_(cat("enqueueing a request for model '", info_.name, "' version ", info_.version)) {}

ServedModel::~ServedModel() {
  // Said here once more than by the order of ModelParts, because it is what unloading safely rests on.
  parts_.scheduler.reset();
  parts_.admission.reset();
  parts_.instances.clear();
  parts_.backend_model.reset();
  parts_.scheduler_provider.reset();
  parts_.backend.reset();
}

Status ServedModel::infer(Request& request) noexcept {
  int64_t start_ns = context_.clock.now_ns();
  request.times.start_ns = start_ns;
  ATOLL_RETURN_IF_ERROR(validator_.validate(request));
  if (request.trace != nullptr) request.trace->report(TraceActivity::kRequestStart, start_ns);
  if (context_.admission.asks() && (request.call_flags & kIsStep) == 0) {
    AdmissionPoint::Hold hold = context_.admission.hold();
    if (hold.gate != nullptr) return AdmittedRequest::ask(*this, hold, request, priority_of(request));
  }
  return hand_over(request, start_ns);
}

uint64_t ServedModel::priority_of(const Request& request) const noexcept {
  const bool is_level = request.priority != 0 && request.priority <= parts_.priority_levels;
  return parts_.priority_levels == 0 || is_level ? request.priority : parts_.default_priority;
}

void ServedModel::report_not_admitted(const Request& request, const Status& status) noexcept {
  const bool cancelled = status.code() == Code::kCancelled;
  parts_.statistics->report_failure(request, cancelled ? FailureReason::kCanceled : FailureReason::kRejected);
}

Status ServedModel::hand_over(Request& request, int64_t now_ns) noexcept {
  const bool read_clock = now_ns == 0 || validator_.reads_contents();
  request.times.queue_start_ns = read_clock ? context_.clock.now_ns() : now_ns;
  if (request.trace != nullptr) {
    request.trace->report(TraceActivity::kQueueStart, request.times.queue_start_ns);
    trace_inputs(request, TraceActivity::kTensorQueueInput);
  }
  FaultNote note(context_.fault_notes, enqueueing_.c_str());
  if (!reshapes_outputs_) return parts_.scheduler->enqueue(request);
  interpose_output_reshape(request, info_);
  Status status = parts_.scheduler->enqueue(request);
  if (!status.ok()) remove_output_reshape(request);
  return status;
}

ModelStatistics ServedModel::statistics() const noexcept {
  ModelStatistics statistics = parts_.statistics->snapshot();
  statistics.name = info_.name;
  statistics.version = info_.version;
  statistics.load_duration_ns = load_duration_ns_;
  uint64_t executing = 0;
  for (const auto& instance : parts_.instances) executing += instance->executing();
  uint64_t in_flight = parts_.scheduler->in_flight();
  statistics.pending = in_flight > executing ? in_flight - executing : 0;
  if (parts_.backend_model != nullptr) statistics.memory = parts_.backend_model->memory_usage();
  return statistics;
}

bool ServedModel::ready() const noexcept {
  for (const auto& instance : parts_.instances) {
    if (!instance->ready()) return false;
  }
  return true;
}

void ServedModel::add_reference() noexcept {
  ReaderShards::Read lock(context_.shards);
  if (retired_) {
    remaining_.fetch_add(1, std::memory_order_relaxed);
  } else {
    add_reference(lock);
  }
}

void ServedModel::drop_reference() noexcept {
  bool last = false;
  {
    // The lock is the catalog's, so letting go of it is safe even if this object is gone by then.
    ReaderShards::Read lock(context_.shards);
    if (retired_) {
      last = remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    } else {
      --counts_[lock.shard()].references;
    }
  }
  if (last) destroy_later();
}

uint64_t ServedModel::holders() const noexcept {
  ReaderShards::Write lock(context_.shards);
  int64_t sum = remaining_.load(std::memory_order_relaxed);
  if (!retired_) {
    for (const Count& count : counts_) sum += count.references;
  }
  return sum > 0 ? static_cast<uint64_t>(sum) : 0;
}

bool ServedModel::retire(const ReaderShards::Write&) noexcept {
  int64_t sum = 0;
  for (const Count& count : counts_) sum += count.references;
  remaining_.store(sum, std::memory_order_relaxed);
  retired_ = true;
  return sum == 0;
}

void ServedModel::destroy_later() noexcept {
  parts_.scheduler->stop_accepting();
  context_.workers.run(Task{[](void* argument) {
                              auto* model = static_cast<ServedModel*>(argument);
                              if (!model->destroy_now()) model->destroy_later();
                            },
                            this, [](void* argument) { delete static_cast<ServedModel*>(argument); }});
}

bool ServedModel::destroy_now() noexcept {
  if (parts_.scheduler->in_flight() != 0) {
    // A request is released before the scheduler's own bookkeeping for it ends.
    std::this_thread::sleep_for(kSettleInterval);
    return false;
  }
  Pass pass = std::move(parts_.pass);
  OnDestroyed told = std::move(on_destroyed_);
  if (told) told(false);
  delete this;
  if (told) told(true);
  return true;
}

}  // namespace atl::models
