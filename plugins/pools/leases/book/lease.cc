#include "pools/leases/book/lease.h"

#include <algorithm>
#include <utility>

namespace atl::pools {

// --- what happens to it ---

void Lease::place(PoolInstance& instance) {
  instance_ = &instance;
  loaded_ = looked_at_ = 0;
  found_.clear();
  lost_.clear();
  turn_ = Turn::kOwn;
  for (size_t i = 0; i < models_.size(); ++i) set_model(i, ModelState::kPending);
  set_state(LeaseState::kPending);
}

/// To unload what is not loaded is no failure.
void Lease::resume(PoolInstance& instance, bool is_loaded) {
  instance_ = &instance;
  loaded_ = is_loaded ? models_.size() : 0;
}

void Lease::instance_lost(bool keeps_place) {
  alive_.renew();
  instance_ = nullptr;
  turn_ = Turn::kOwn;
  loaded_ = looked_at_ = 0;
  lost_.clear();
  for (size_t i = 0; i < models_.size(); ++i) set_model(i, ModelState::kUnloaded);
  if (!keeps_place && !is_ending()) set_state(LeaseState::kPending);
}

void Lease::instance_seen(const ServedModels& models, int64_t asked_ns) {
  if (record.state != LeaseState::kActive || is_ending() || asked_ns <= active_since_ns_) return;
  for (size_t i = 0; i < models_.size(); ++i) {
    const std::string& name = model(i).name;
    if (models.served.contains(name)) continue;
    const auto why = models.not_served.find(name);
    const std::string reason =
        cat("its instance has lost it", why == models.not_served.end() ? "" : ": ",
            why == models.not_served.end() ? std::string_view() : std::string_view(why->second));
    with_.log.warning("lease ", id(), ": model '", name, "': ", reason, "; it is loaded again");
    lost_.push_back(i);
    set_model(i, ModelState::kFailed, reason);
  }
  if (!lost_.empty()) set_state(LeaseState::kDeploying);
}

void Lease::end(LeaseState state, const Status& failure) {
  if (is_ending()) return;
  final_ = state;
  record.failure = failure.code();
  record.reason = failure.message();
  const bool has_failed = state == LeaseState::kFailed;
  set_state(has_failed ? LeaseState::kUnloadingFailed : LeaseState::kReleasing);
  // A model that is being loaded is unloaded when that has ended.
  const bool loads = std::ranges::find(models_, ModelState::kLoading, &ModelStatus::state) != models_.end();
  if (turn_ != Turn::kOwn && loads) return;
  alive_.renew();
  turn_ = Turn::kOwn;
}

// --- its steps ---

LeaseStep Lease::next(const ModelBackends& known) {
  using Kind = LeaseStep::Kind;
  if (std::exchange(is_changed_, false)) return {Kind::kChanged};
  if (turn_ == Turn::kToWait) {
    turn_ = Turn::kOthers;
    return {Kind::kWait, nullptr, wait_ns_};
  }
  if (turn_ == Turn::kOthers || is_final(record.state)) return {};
  const bool is_ready = instance_ != nullptr && instance_->is_ready();
  if (is_ending() && loaded_ == 0) return {Kind::kRecordEnd, nullptr, 0, {}, final_};
  if (!is_ready) return {};
  if (is_ending()) return step_of(Kind::kUnload, loaded_ - 1, ModelState::kUnloading);
  if (record.state == LeaseState::kPending) {
    set_state(LeaseState::kDeploying);
    return next(known);
  }
  if (record.state != LeaseState::kDeploying) return {};
  if (loaded_ < models_.size()) return step_of(Kind::kLoad, loaded_, ModelState::kLoading);
  while (looked_at_ < models_.size() && known.is_known(model(looked_at_))) ++looked_at_;
  if (looked_at_ < models_.size()) {
    turn_ = Turn::kOthers;
    return {Kind::kFindBackends, &model(looked_at_)};
  }
  if (!lost_.empty()) return step_of(Kind::kLoad, lost_.front(), ModelState::kLoading);
  return {Kind::kRecordActive, nullptr, 0, found_};
}

/// Those who watch see that a model is being loaded before it is.
LeaseStep Lease::step_of(LeaseStep::Kind kind, size_t index, ModelState state) {
  set_model(index, state);
  if (std::exchange(is_changed_, false)) return {LeaseStep::Kind::kChanged};
  turn_ = Turn::kOthers;
  return {kind, &model(index)};
}

void Lease::loaded(const Status& status) {
  turn_ = Turn::kOwn;
  const bool was_lost = loaded_ == models_.size();
  const size_t index = was_lost ? lost_.front() : loaded_;
  if (status.ok()) {
    set_model(index, ModelState::kReady);
    if (was_lost) {
      lost_.erase(lost_.begin());
    } else {
      ++loaded_;
    }
    return;
  }
  set_model(index, ModelState::kFailed, status.message());
  // Of one that ends for another reason nobody asks why.
  if (is_ending()) return;
  if (was_lost && ++failed_loads_ < with_.settings.health_failures) return try_again();
  end(LeaseState::kFailed,
      make_status(Code::kFailedPrecondition, "model '", model(index).name,
                  was_lost ? "' was lost by its instance and failed to load again: " : "' failed to load: ",
                  status.message()));
}

/// Without them the lease serves; its model stays unknown.
void Lease::found(Result<std::vector<std::string>> backends) {
  turn_ = Turn::kOwn;
  const LeaseModel& asked = model(looked_at_++);
  if (backends.ok()) {
    found_.push_back({asked.name, asked.source, std::move(backends).value()});
  } else {
    with_.log.warning("lease ", id(), ": the backends of model '", asked.name,
                      "' cannot be found out: ", backends.status().text());
  }
}

void Lease::activated(const Status& recorded) {
  if (!recorded.ok()) {
    with_.log.error("lease ", id(), " is deployed and cannot be recorded: ", recorded.text());
    return try_again();
  }
  wait_ns_ = 0;
  found_.clear();
  failed_loads_ = 0;
  active_since_ns_ = with_.now_ns();
  set_state(LeaseState::kActive);
}

/// What cannot be unloaded takes its quota on: the next one must not find the instance full.
void Lease::unloaded(const Status& status) {
  turn_ = Turn::kOwn;
  if (!status.ok()) {
    set_model(loaded_ - 1, ModelState::kUnloading, status.message());
    with_.log.warning("lease ", id(), ": model '", model(loaded_ - 1).name,
                      "' cannot be unloaded: ", status.text());
    return try_again();
  }
  wait_ns_ = 0;
  set_model(--loaded_, ModelState::kUnloaded);
}

void Lease::ended(const Status& recorded, LeaseRecord as) {
  if (!recorded.ok()) {
    with_.log.error("lease ", id(), " is over and cannot be recorded: ", recorded.text());
    return try_again();
  }
  instance_ = nullptr;  // it may go before what is known of the lease
  record = std::move(as);
}

void Lease::try_again() {
  turn_ = Turn::kToWait;
  wait_ns_ = std::clamp(2 * wait_ns_, with_.settings.first_backoff_ns, with_.settings.longest_backoff_ns);
}

void Lease::set_state(LeaseState state) {
  is_changed_ |= record.state != state;
  record.state = state;
}

void Lease::set_model(size_t index, ModelState state, std::string_view reason) {
  ModelStatus& model = models_[index];
  is_changed_ |= model.state != state || model.reason != reason;
  model.state = state;
  model.reason = reason;
}

}  // namespace atl::pools
