#include "models/catalog/serving/served_model.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace atl::models {
namespace {

/// How often a worker looks whether a scheduler has finished with requests that were released already.
constexpr auto kSettleInterval = std::chrono::microseconds(100);

/// What is published is made by the loader.
const ServedModel& served(const Model* member) noexcept { return *static_cast<const ServedModel*>(member); }

bool asks_for_sequences(const ModelParts& parts) noexcept {
  const auto members = parts.members.by_step();
  return parts.wanted_scheduler.demand.kind.starts_with("sequence") ||
         std::any_of(members.begin(), members.end(),
                     [](const Model* member) { return served(member).knows_sequences(); });
}

}  // namespace

ServedModel::ServedModel(ServingContext& context, ModelParts parts, CorrelationControl correlation,
                         bool keeps_order)
    : context_(context),
      parts_(std::move(parts)),
      info_(*parts_.info),
      path_(context.requests, info_, std::move(correlation), keeps_order, parts_.priorities,
            *parts_.scheduler, *parts_.statistics),
      knows_sequences_(asks_for_sequences(parts_)) {}

ServedModel::~ServedModel() {
  if (context_.active != nullptr) context_.active->remove(*this);
  // Said here once more than by the order of ModelParts, because it is what unloading safely rests on.
  parts_.scheduler.reset();
  parts_.members = {};
  parts_.admission.reset();
  parts_.instances.clear();
  parts_.backend_model.reset();
  parts_.scheduler_provider.reset();
  parts_.backend.reset();
}

ModelStatistics ServedModel::statistics() const noexcept {
  ModelStatistics statistics = parts_.statistics->snapshot();
  statistics.name = info_.name;
  statistics.version = info_.version;
  statistics.load_duration_ns = load_duration_ns_;
  statistics.pending = requests_now().waiting;
  if (parts_.backend_model != nullptr) statistics.memory = parts_.backend_model->memory_usage();
  return statistics;
}

RequestsNow ServedModel::requests_now() const noexcept {
  RequestsNow now;
  for (const auto& instance : parts_.instances) now.running += instance->executing();
  const uint64_t in_flight = parts_.scheduler->in_flight();
  now.waiting = in_flight > now.running ? in_flight - now.running : 0;
  return now;
}

bool ServedModel::ready() const noexcept {
  for (const auto& instance : parts_.instances) {
    if (!instance->ready()) return false;
  }
  return true;
}

std::string ServedModel::unready_reason() const {
  for (const auto& instance : parts_.instances) {
    if (instance->ready()) continue;
    const std::string reason = instance->unready_reason();
    return cat("an instance is not ready", reason.empty() ? "" : ": ", reason);
  }
  return {};
}

bool ServedModel::has_sequence(const SequenceId& id) const noexcept {
  if (!knows_sequences_) return true;
  if (!is_ensemble()) return parts_.scheduler->has_sequence(id);
  const auto members = parts_.members.by_step();
  return std::any_of(members.begin(), members.end(), [&](const Model* member) {
    return served(member).knows_sequences() && member->has_sequence(id);
  });
}

uint64_t ServedModel::open_sequences() const noexcept {
  if (!is_ensemble()) return parts_.scheduler->open_sequences();
  uint64_t open = 0;
  for (const Model* member : parts_.members.by_step()) open += served(member).open_sequences();
  return open;
}

void ServedModel::add_reference() noexcept {
  ReaderShards::Read lock(context_.shards);
  add_reference(lock);
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
  const int64_t sum = references(lock) - ensembles_.load();
  return sum > 0 ? static_cast<uint64_t>(sum) : 0;
}

int64_t ServedModel::references(const ReaderShards::Write&) const noexcept {
  if (retired_) return remaining_.load(std::memory_order_relaxed);
  int64_t sum = 0;
  for (const Count& count : counts_) sum += count.references;
  return sum;
}

bool ServedModel::retire(const ReaderShards::Write& lock) noexcept {
  const int64_t sum = references(lock);
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
  LongWork::Task task(context_.work, context_.requests.fault_notes, "unloading",
                      cat("model '", info_.name, "' version ", info_.version));
  OnDestroyed callback = std::move(on_destroyed_);
  if (callback) callback(false);
  delete this;
  if (callback) callback(true);
  return true;
}

}  // namespace atl::models
