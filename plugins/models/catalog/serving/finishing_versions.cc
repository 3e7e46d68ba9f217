#include "models/catalog/serving/finishing_versions.h"

#include <utility>

namespace atl::models {
namespace {

constexpr int64_t kLookIntervalNs = 20 * kNsPerMs;

/// Requests that found the version before it was replaced may begin a sequence yet.
/// \param own  references that are no request's
bool is_finished(const ReaderShards::Write& lock, const ServedModel& version, int64_t own) {
  return version.references(lock) == own && version.open_sequences() == 0;
}

}  // namespace

bool FinishingVersions::add(const ReaderShards::Write& lock, const std::string& name, ServedModel& version) {
  if (ended_ || time_ns_ == 0 || !version.knows_sequences() || is_finished(lock, version, 0)) return false;
  version.add_reference(lock);
  versions_.push_back({name, &version, clock_.now_ns() + time_ns_});
  any_.store(true, std::memory_order_release);
  return true;
}

ModelRef FinishingVersions::find(std::string_view name, int64_t version,
                                 const SequenceId& sequence) noexcept {
  if (!any_.load(std::memory_order_acquire)) return {};
  ServedModel* found = nullptr;
  {
    ReaderShards::Read lock(shards_);
    for (auto one = versions_.rbegin(); one != versions_.rend() && found == nullptr; ++one) {
      if (one->name != name) continue;
      if (version != ModelCatalog::kLatest && one->model->info().version != version) continue;
      if (sequence.empty() || one->model->has_sequence(sequence)) found = one->model;
    }
    if (found == nullptr) return {};
    found->add_reference(lock);
  }
  return ModelRef(found);
}

uint64_t FinishingVersions::open_sequences() const noexcept {
  if (!any_.load(std::memory_order_acquire)) return 0;
  ReaderShards::Read lock(shards_);
  uint64_t open = 0;
  for (const Version& one : versions_) open += one.model->parts().scheduler->open_sequences();
  return open;
}

void FinishingVersions::watch() noexcept {
  std::lock_guard lock(mutex_);
  if (watching_) return;
  if (executor_ == nullptr) {
    Result<SerialExecutorPtr> made = executors_.create("sequences", {});
    if (!made.ok()) return;  // end() is what is left to let them go
    executor_ = std::move(made).value();
  }
  watching_ = true;
  look_again_later();
}

/// With the mutex.
void FinishingVersions::look_again_later() noexcept {
  executor_->post_at(clock_.now_ns() + kLookIntervalNs,
                     {[](void* self) { static_cast<FinishingVersions*>(self)->look(); }, this, nullptr});
}

void FinishingVersions::look() noexcept {
  let_go(false);
  std::lock_guard lock(mutex_);
  watching_ = any_.load(std::memory_order_acquire);
  if (watching_) look_again_later();
}

void FinishingVersions::let_go(bool all) noexcept {
  const int64_t now_ns = clock_.now_ns();
  std::vector<ServedModel*> finished, late;
  {
    ReaderShards::Write lock(shards_);
    std::erase_if(versions_, [&](const Version& one) {
      const bool idle = is_finished(lock, *one.model, 1);
      // An ensemble that could not be made anew goes on with it.
      const bool too_late = all || (now_ns >= one.until_ns && !one.model->serves_ensembles());
      if (idle || too_late) (idle ? finished : late).push_back(one.model);
      return idle || too_late;
    });
    any_.store(!versions_.empty(), std::memory_order_release);
  }
  for (ServedModel* version : late) version->parts().scheduler->end_sequences();
  for (ServedModel* version : late) version->drop_reference();
  for (ServedModel* version : finished) version->drop_reference();
}

void FinishingVersions::end() noexcept {
  {
    ReaderShards::Write lock(shards_);
    ended_ = true;
  }
  let_go(true);
  SerialExecutorPtr executor;
  {
    std::lock_guard lock(mutex_);
    executor = std::move(executor_);
    watching_ = true;  // nobody watches any more
  }
}

}  // namespace atl::models
