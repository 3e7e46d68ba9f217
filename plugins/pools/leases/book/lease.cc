#include "pools/leases/book/lease.h"

#include <algorithm>
#include <utility>

namespace atl::pools {

void Lease::place(PoolInstance& instance) {
  instance_ = &instance;
  loaded_ = looked_at_ = 0;
  found_.clear();
  lost_.clear();
  is_busy_ = false;
  for (size_t i = 0; i < models_.size(); ++i) set_model(i, ModelState::kPending);
  set_state(LeaseState::kPending);
  advance();
}

/// To unload what is not loaded is no failure.
void Lease::find_again(PoolInstance& instance) {
  instance_ = &instance;
  loaded_ = models_.size();
  advance();
}

void Lease::move_to(PoolInstance& instance) {
  forget_loaded();
  instance_ = &instance;
  advance();
}

void Lease::forget_loaded() {
  alive_.renew();
  instance_ = nullptr;
  is_busy_ = false;
  loaded_ = looked_at_ = 0;
  lost_.clear();
  for (size_t i = 0; i < models_.size(); ++i) set_model(i, ModelState::kUnloaded);
}

bool Lease::instance_lost() {
  forget_loaded();
  if (is_ending()) {
    advance();
    return false;
  }
  set_state(LeaseState::kPending);
  return true;
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
  if (is_busy_ && loads) return;
  alive_.renew();
  is_busy_ = false;
  advance();
}

void Lease::advance() {
  if (is_busy_) return;
  if (is_ending()) return loaded_ > 0 ? unload_last() : finish();
  if (instance_ == nullptr || !instance_->is_ready()) return;
  if (record.state == LeaseState::kPending) set_state(LeaseState::kDeploying);
  if (record.state != LeaseState::kDeploying) return;
  if (loaded_ < models_.size()) return load_next();
  if (looked_at_ < models_.size()) return find_next();
  if (!lost_.empty()) return load_lost();
  activate();
}

// --- to ACTIVE ---

void Lease::load_next() {
  is_busy_ = true;
  set_model(loaded_, ModelState::kLoading);
  with_.hosts.load(instance_->server(), model(loaded_),
                   alive_.only_while([this](Status status) { loaded(std::move(status)); }));
}

void Lease::loaded(Status status) {
  is_busy_ = false;
  if (status.ok()) {
    set_model(loaded_++, ModelState::kReady);
    return advance();
  }
  set_model(loaded_, ModelState::kFailed, status.message());
  // Of one that ends for another reason nobody asks why.
  if (is_ending()) return advance();
  end(LeaseState::kFailed, make_status(Code::kFailedPrecondition, "model '", model(loaded_).name,
                                       "' failed to load: ", status.message()));
}

void Lease::find_next() {
  if (owner_.is_known(model(looked_at_))) {
    ++looked_at_;
    return advance();
  }
  is_busy_ = true;
  with_.hosts.find_backends(
      instance_->address(), model(looked_at_).name,
      alive_.only_while([this](Result<std::vector<std::string>> backends) { found(std::move(backends)); }));
}

/// Without them the lease serves; its model stays unknown.
void Lease::found(Result<std::vector<std::string>> backends) {
  is_busy_ = false;
  const LeaseModel& asked = model(looked_at_++);
  if (backends.ok()) {
    found_.push_back({asked.name, asked.source, std::move(backends).value()});
  } else {
    with_.log.warning("lease ", id(), ": the backends of model '", asked.name,
                      "' cannot be found out: ", backends.status().text());
  }
  advance();
}

void Lease::activate() {
  const Status status = owner_.lease_deployed(*this, found_);
  if (!status.ok()) {
    with_.log.error("lease ", id(), " is deployed and cannot be recorded: ", status.text());
    return try_again();
  }
  wait_ns_ = 0;
  found_.clear();
  failed_loads_ = 0;
  active_since_ns_ = with_.now_ns();
  set_state(LeaseState::kActive);
}

// --- what its instance has lost ---

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
  if (lost_.empty()) return;
  set_state(LeaseState::kDeploying);
  advance();
}

void Lease::load_lost() {
  is_busy_ = true;
  set_model(lost_.front(), ModelState::kLoading);
  with_.hosts.load(instance_->server(), model(lost_.front()),
                   alive_.only_while([this](Status status) { loaded_again(std::move(status)); }));
}

void Lease::loaded_again(Status status) {
  is_busy_ = false;
  const size_t index = lost_.front();
  if (status.ok()) {
    set_model(index, ModelState::kReady);
    lost_.erase(lost_.begin());
    return advance();
  }
  set_model(index, ModelState::kFailed, status.message());
  if (is_ending()) return advance();
  if (++failed_loads_ < with_.settings.health_failures) return try_again();
  end(LeaseState::kFailed,
      make_status(Code::kFailedPrecondition, "model '", model(index).name,
                  "' was lost by its instance and failed to load again: ", status.message()));
}

// --- to the end ---

void Lease::unload_last() {
  if (instance_ == nullptr || !instance_->is_ready()) return;
  is_busy_ = true;
  set_model(loaded_ - 1, ModelState::kUnloading);
  with_.hosts.unload(instance_->server(), model(loaded_ - 1).name,
                     alive_.only_while([this](Status status) { unloaded(std::move(status)); }));
}

/// What cannot be unloaded takes its quota on: the next one must not find the instance full.
void Lease::unloaded(Status status) {
  is_busy_ = false;
  if (!status.ok()) {
    set_model(loaded_ - 1, ModelState::kUnloading, status.message());
    with_.log.warning("lease ", id(), ": model '", model(loaded_ - 1).name,
                      "' cannot be unloaded: ", status.text());
    return try_again();
  }
  wait_ns_ = 0;
  set_model(--loaded_, ModelState::kUnloaded);
  advance();
}

void Lease::finish() {
  PoolInstance* const was_on =
      std::exchange(instance_, nullptr);  // which may go before what is known of the lease
  const Status status = owner_.lease_ended(*this, final_);
  if (status.ok()) return;
  instance_ = was_on;
  with_.log.error("lease ", id(), " is over and cannot be recorded: ", status.text());
  try_again();
}

void Lease::try_again() {
  is_busy_ = true;
  wait_ns_ = std::clamp(2 * wait_ns_, with_.settings.first_backoff_ns, with_.settings.longest_backoff_ns);
  with_.post_after(wait_ns_, make_task(alive_.only_while([this] {
                     is_busy_ = false;
                     advance();
                   })));
}

void Lease::set_state(LeaseState state) {
  if (record.state == state) return;
  record.state = state;
  owner_.lease_changed(*this);
}

void Lease::set_model(size_t index, ModelState state, std::string_view reason) {
  ModelStatus& model = models_[index];
  if (model.state == state && model.reason == reason) return;
  model.state = state;
  model.reason = reason;
  owner_.lease_changed(*this);
}

}  // namespace atl::pools
