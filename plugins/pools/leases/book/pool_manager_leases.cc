// The part of the pool manager that leases are made, renewed and ended by.
#include <algorithm>
#include <utility>

#include "pools/leases/book/pool_manager.h"

namespace atl::pools {
namespace {

constexpr size_t kModelRecordsMax = 100'000;
constexpr size_t kNamesMax = 100'000;

}  // namespace

// --- where they go ---

/// Nothing: those of one of its models are not known.
std::optional<BackendSet> PoolManager::backends_of(const LeaseDefinition& definition) const {
  BackendSet set;
  for (const LeaseModel& model : definition.models) {
    const auto known = models_.find({model.name, model.source});
    if (known == models_.end()) return std::nullopt;
    set |= known->second;
  }
  return set;
}

PoolManager::Needs PoolManager::needs_of(const LeaseDefinition& definition) const {
  Needs needs;
  needs.place.quota = definition.quota;
  needs.place.backends = backends_of(definition);
  for (const LeaseModel& model : definition.models) needs.models.push_back(model.name);
  needs.place.models = needs.models;
  return needs;
}

Result<Pool*> PoolManager::pool_for(const LeaseDefinition& definition) {
  ATOLL_RETURN_IF_ERROR(check(definition, with_.settings.lease_limits));
  const auto found = pools_.find(definition.pool);
  if (found == pools_.end()) return not_found("pool '", definition.pool, "' is not found");
  if (found->second->record().is_deleting)
    return make_status(Code::kFailedPrecondition, "pool '", definition.pool, "' is being deleted");
  return found->second.get();
}

/// Recorded before it is done.
Status PoolManager::place(Pool& pool, Lease& lease, std::string_view why) {
  const Needs needs = needs_of(lease.record.definition);
  PoolPlaces::Decision decision = pool.places().decide(needs.place, with_.placement);
  if (decision.kind == PoolPlaces::Decision::Kind::kRefused) return std::move(decision.refusal);
  const bool is_new = decision.kind == PoolPlaces::Decision::Kind::kNewInstance;
  InstanceRecord instance = is_new ? pool.draft_instance() : pool.record_of(decision.instance);
  if (instance.backends_state == InstanceBackends::kBlank) {
    instance.backends_state = needs.place.backends ? InstanceBackends::kKnown : InstanceBackends::kUnknown;
    instance.backends = backend_names_.names_of(needs.place.backends.value_or(BackendSet()));
  }
  LeaseRecord record = lease.record;
  record.instance = instance.number;
  record.has_place = true;
  record.state = LeaseState::kPending;
  const Change changes[] = {instance, record};
  ATOLL_RETURN_IF_ERROR(write(changes));
  if (is_new) pool.start_instance(instance);
  pool.put(lease, instance.number, needs.place);
  Entry& entry = leases_.at(lease.id());
  if (std::exchange(entry.told, LeaseState::kPending) != LeaseState::kPending) {
    entry.pending_ns = with_.now_ns();
    publish(PoolEvent::Kind::kLeasePending, lease, why);
  }
  lease.place(*pool.find(instance.number));
  route(entry);
  return {};
}

void PoolManager::check_models(const LeaseDefinition& definition, std::function<void(Status)> done) {
  if (!pool_for(definition).ok() || keys_.contains(definition.idempotency_key)) return done({});
  with_.hosts.check_models(definition.models, alive_.only_while(std::move(done)));
}

Result<std::string> PoolManager::acquire(const LeaseDefinition& definition) {
  Result<Pool*> pool = pool_for(definition);
  if (!pool.ok()) return std::move(pool).status();
  if (const auto known = keys_.find(definition.idempotency_key); known != keys_.end()) {
    if (leases_.at(known->second).lease->record.definition == definition) return known->second;
    return make_status(Code::kAlreadyExists, "idempotency_key '", definition.idempotency_key,
                       "' is that of lease ", known->second, ", which is another one");
  }
  if (live_ >= with_.settings.leases_max) {
    return make_status(Code::kResourceExhausted, "there are ", live_,
                       " leases, which is the most (option "
                       "'max_leases')");
  }
  LeaseRecord record;
  record.id = with_.make_id();
  record.definition = definition;
  record.duration_ns = definition.duration_ns.value_or(with_.settings.lease_limits.default_duration_ns);
  record.created_wall_ns = with_.clock.wall_ns();
  record.expires_wall_ns = after(record.created_wall_ns, record.duration_ns);
  const std::string id = record.id;
  const int64_t expires_ns = after(with_.now_ns(), record.duration_ns);
  Entry& entry = add(std::move(record), expires_ns);
  if (Status placed = place(**pool, *entry.lease, {}); !placed.ok()) {
    publish(PoolEvent::Kind::kLeaseRefused, *entry.lease, placed.message(), placed.code());
    forget(id);
    return placed;
  }
  arm(entry, expires_ns, &PoolManager::expire);
  return id;
}

Result<LeasePlan> PoolManager::plan(const LeaseDefinition& definition) {
  Result<Pool*> pool = pool_for(definition);
  if (!pool.ok()) return std::move(pool).status();
  const Needs needs = needs_of(definition);
  PoolPlaces::Decision decision = (*pool)->places().decide(needs.place, with_.placement);
  if (decision.refusal.code() == Code::kInvalidArgument) return std::move(decision.refusal);
  LeasePlan plan;
  if (decision.kind == PoolPlaces::Decision::Kind::kInstance) plan.instance = decision.instance;
  plan.starts_instance = decision.kind == PoolPlaces::Decision::Kind::kNewInstance;
  plan.refusal = std::move(decision.refusal);
  for (const Place& place : (*pool)->places().places())
    plan.instances.push_back({place, (*pool)->places().why_not(place, needs.place)});
  return plan;
}

/// To another instance once, and not where a further one would fare no better.
void PoolManager::lease_lost(Pool& pool, Lease& lease, const Status& reason, bool is_last) {
  Entry& entry = leases_.at(lease.id());
  pool.take_off(lease, needs_of(lease.record.definition).place);
  const bool cannot_start =
      reason.code() == Code::kResourceExhausted || reason.code() == Code::kInvalidArgument;
  if (entry.was_moved || cannot_start || pool.record().is_deleting) {
    const Code code = cannot_start ? Code::kResourceExhausted : Code::kUnavailable;
    return lease.end(LeaseState::kFailed, make_status(code, "instance i", lease.record.instance, " of pool '",
                                                      pool.name(), "' failed: ", reason.message()));
  }
  const Status placed = place(pool, lease, "moved");
  if (placed.ok()) {
    entry.was_moved = true;
  } else if (!is_last) {
    pool.wait(lease, reason);
    const Change change = lease.record;
    if (Status status = write({&change, 1}); !status.ok())
      with_.log.error("lease ", lease.id(), " waits for a place, which is not recorded: ", status.text());
  } else {
    lease.end(LeaseState::kFailed,
              make_status(placed.code(), "instance i", lease.record.instance, " of pool '", pool.name(),
                          "' failed (", reason.message(), "), and there is no other: ", placed.message()));
  }
}

// --- what is known of models ---

bool PoolManager::is_known(const LeaseModel& model) const {
  return models_.contains({model.name, model.source});
}

/// \returns whether its backends can be numbered
bool PoolManager::remember(const LeasedModel& model) {
  BackendSet backends;
  for (const std::string& backend : model.backends) {
    if (!check_name("backend", backend).ok() || !backend_names_.add(backend, backends)) return false;
  }
  if (models_.size() >= kModelRecordsMax) models_.erase(models_.begin());
  models_.insert_or_assign({model.name, model.source}, backends);
  return true;
}

Status PoolManager::lease_deployed(Lease& lease, const std::vector<LeasedModel>& found) {
  Pool& pool = *pools_.find(lease.record.definition.pool)->second;
  for (const LeasedModel& model : found) {
    if (!remember(model))
      with_.log.warning("model '", model.name,
                        "': its backends have names that cannot be used, and stay unknown");
  }
  std::vector<Change> changes(found.begin(), found.end());
  LeaseRecord record = lease.record;
  record.state = LeaseState::kActive;
  changes.push_back(record);
  const std::optional<BackendSet> backends = backends_of(record.definition);
  const bool is_found =
      pool.places().place(record.instance).backends_state == InstanceBackends::kUnknown && backends;
  if (is_found) {
    InstanceRecord instance = pool.record_of(record.instance);
    instance.backends_state = InstanceBackends::kKnown;
    instance.backends = backend_names_.names_of(*backends);
    changes.push_back(instance);
  }
  ATOLL_RETURN_IF_ERROR(write(changes));
  if (is_found) pool.places().set_backends(record.instance, *backends);
  leases_.at(lease.id()).was_moved = false;
  return {};
}

// --- time ---

Result<int64_t> PoolManager::renew(std::string_view id, std::optional<int64_t> duration_ns) {
  const auto found = leases_.find(std::string(id));
  if (found == leases_.end()) return not_found("lease '", id, "' is not found");
  const LeaseRecord& record = found->second.lease->record;
  if (found->second.lease->is_ending() || is_final(record.state))
    return make_status(Code::kFailedPrecondition, "lease '", id, "' is ", name_of(record.state));
  Result<int64_t> by =
      checked_duration(duration_ns.value_or(record.duration_ns), with_.settings.lease_limits);
  if (!by.ok()) return std::move(by).status();
  ATOLL_RETURN_IF_ERROR(renew(found->second, *by, "client"));
  return record.expires_wall_ns;
}

Status PoolManager::renew(Entry& entry, int64_t duration_ns, std::string_view by) {
  const int64_t expires_ns = std::max(entry.expires_ns, after(with_.now_ns(), duration_ns));
  LeaseRecord record = entry.lease->record;
  record.expires_wall_ns = after(with_.clock.wall_ns(), expires_ns - with_.now_ns());
  const Change change = record;
  ATOLL_RETURN_IF_ERROR(write({&change, 1}));
  entry.lease->record.expires_wall_ns = record.expires_wall_ns;
  entry.expires_ns = expires_ns;
  arm(entry, expires_ns, &PoolManager::expire);
  publish(PoolEvent::Kind::kLeaseRenewed, *entry.lease, by);
  return {};
}

bool PoolManager::was_used(const Lease& lease) const {
  const std::optional<int64_t> last_ns = use_ == nullptr ? std::nullopt : use_->last_use_ns(lease.id());
  const int64_t window_ns = lease.record.definition.auto_renew->window_ns;
  return last_ns && with_.now_ns() - *last_ns <= (window_ns == 0 ? lease.record.duration_ns : window_ns);
}

void PoolManager::expire(const std::string& id) {
  Entry& entry = leases_.at(id);
  Lease& lease = *entry.lease;
  if (lease.is_ending()) return;
  const auto& auto_renew = lease.record.definition.auto_renew;
  if (auto_renew && was_used(lease)) {
    const int64_t by_ns = auto_renew->duration_ns == 0 ? lease.record.duration_ns : auto_renew->duration_ns;
    const Status renewed = renew(entry, by_ns, "use");
    if (renewed.ok()) return;
    // What is used goes on without it: a disk that is full ends nobody's work.
    with_.log.error("lease ", id, " is in use, and its renewal cannot be recorded: ", renewed.text());
    return arm(entry, after(with_.now_ns(), with_.settings.longest_backoff_ns), &PoolManager::expire);
  }
  lease.end(LeaseState::kExpired);
}

void PoolManager::arm(Entry& entry, int64_t time_ns, void (PoolManager::*then)(const std::string&)) {
  (void)with_.executor.cancel(entry.timer);
  entry.timer = with_.executor.post_at(
      time_ns, make_task(alive_.only_while([this, then, id = entry.lease->id()] { (this->*then)(id); })));
}

// --- the end ---

Status PoolManager::release(std::string_view id) {
  const auto found = leases_.find(std::string(id));
  if (found == leases_.end()) return not_found("lease '", id, "' is not found");
  Lease& lease = *found->second.lease;
  if (is_final(lease.state())) return {};
  // Also of one that ends already, since that is not on the disk before its end.
  LeaseRecord record = lease.record;
  record.state = LeaseState::kReleasing;
  const Change change = record;
  ATOLL_RETURN_IF_ERROR(write({&change, 1}));
  lease.end(LeaseState::kReleased);
  return {};
}

Status PoolManager::lease_ended(Lease& lease, LeaseState state) {
  LeaseRecord record = lease.record;
  record.state = state;
  record.ended_wall_ns = with_.clock.wall_ns();
  const Change change = record;
  ATOLL_RETURN_IF_ERROR(write({&change, 1}));
  lease.record = std::move(record);
  const auto pool = pools_.find(lease.record.definition.pool);
  if (pool != pools_.end() && pool->second->leases().contains(&lease))
    pool->second->take_off(lease, needs_of(lease.record.definition).place);
  lease_changed(lease);
  keep_history(leases_.at(lease.id()), with_.settings.history_ns);
  if (pool != pools_.end() && !is_restoring_) pool->second->keep_up();
  return {};
}

void PoolManager::keep_history(Entry& entry, int64_t for_ns) {
  --live_;
  arm(entry, after(with_.now_ns(), for_ns), &PoolManager::drop);
}

void PoolManager::drop(const std::string& id) {
  std::vector<Change> changes = {DropLease{id}};
  for (const std::string& name : leases_.at(id).names) changes.push_back(DropLeaseName{name});
  // Not recorded as forgotten, it is known again after a restart, for as long.
  if (Status status = write(changes); !status.ok())
    with_.log.error("lease ", id, " is not forgotten: ", status.text());
  forget(id);
}

void PoolManager::forget(const std::string& id) {
  const auto found = leases_.find(id);
  const LeaseRecord& record = found->second.lease->record;
  if (!is_final(record.state)) --live_;
  (void)with_.executor.cancel(found->second.timer);
  if (routes_ != nullptr) routes_->remove(id);
  for (const std::string& name : found->second.names) names_.erase(name);
  keys_.erase(record.definition.idempotency_key);
  leases_.erase(found);
}

PoolManager::Entry& PoolManager::add(LeaseRecord record, int64_t expires_ns) {
  const std::string id = record.id;
  if (!record.definition.idempotency_key.empty()) keys_[record.definition.idempotency_key] = id;
  Entry& entry = leases_[id];
  entry.lease = std::make_unique<Lease>(with_, static_cast<LeaseOwner&>(*this), std::move(record));
  entry.order = created_++;
  entry.expires_ns = expires_ns;
  ++live_;
  return entry;
}

// --- looking at them ---

const Lease* PoolManager::find_lease(std::string_view id) const {
  const auto found = leases_.find(std::string(id));
  return found == leases_.end() ? nullptr : found->second.lease.get();
}

std::vector<const Lease*> PoolManager::leases(std::string_view pool) const {
  std::vector<std::pair<uint64_t, const Lease*>> found;
  for (const auto& [id, entry] : leases_) {
    if (pool.empty() || entry.lease->record.definition.pool == pool)
      found.emplace_back(entry.order, entry.lease.get());
  }
  std::ranges::sort(found);
  std::vector<const Lease*> leases;
  for (const auto& [order, lease] : found) leases.push_back(lease);
  return leases;
}

Status PoolManager::watch(std::string_view id, LeaseWatcher& watcher) {
  const auto found = leases_.find(std::string(id));
  if (found == leases_.end()) return not_found("lease '", id, "' is not found");
  found->second.watchers.insert(&watcher);
  return {};
}

void PoolManager::stop_watching(std::string_view id, LeaseWatcher& watcher) {
  if (const auto found = leases_.find(std::string(id)); found != leases_.end())
    found->second.watchers.erase(&watcher);
}

void PoolManager::lease_changed(Lease& lease) {
  const auto found = leases_.find(lease.id());
  if (found == leases_.end()) return;
  Entry& entry = found->second;
  route(entry);
  const LeaseState before = std::exchange(entry.told, lease.state());
  // It has lost a model: how long it takes to serve again counts from now.
  if (before == LeaseState::kActive) entry.pending_ns = with_.now_ns();
  if (before != lease.state()) tell_state(entry);
  const std::set<LeaseWatcher*> watchers = entry.watchers;
  for (LeaseWatcher* watcher : watchers) {
    if (entry.watchers.contains(watcher)) watcher->lease_changed(lease);
  }
}

void PoolManager::route(const Entry& entry) {
  if (routes_ != nullptr) routes_->update(*entry.lease, entry.order, entry.names);
}

void PoolManager::tell_state(Entry& entry) {
  using Kind = PoolEvent::Kind;
  const Lease& lease = *entry.lease;
  switch (lease.state()) {
    case LeaseState::kPending:
      entry.pending_ns = with_.now_ns();
      return publish(Kind::kLeasePending, lease, "moved");  // a new one is told of where it gets its place
    case LeaseState::kDeploying:
      return publish(Kind::kLeaseDeploying, lease);
    case LeaseState::kActive:
      return publish(Kind::kLeaseActive, lease, {}, Code::kOk, with_.now_ns() - entry.pending_ns);
    case LeaseState::kReleased:
      return publish(Kind::kLeaseReleased, lease);
    case LeaseState::kExpired:
      return publish(Kind::kLeaseExpired, lease);
    case LeaseState::kFailed:
      return publish(Kind::kLeaseFailed, lease, lease.record.reason, lease.record.failure);
    case LeaseState::kReleasing:
    case LeaseState::kUnloadingFailed:
      return;
  }
}

// --- names ---

Status PoolManager::set_name(std::string_view name, std::string_view lease) {
  ATOLL_RETURN_IF_ERROR(check_name("name", name));
  if (!leases_.contains(std::string(lease))) return not_found("lease '", lease, "' is not found");
  if (names_.size() >= kNamesMax && !names_.contains(name))
    return make_status(Code::kResourceExhausted, "there are ", names_.size(), " names, which is the most");
  const Change change = LeaseName{std::string(name), std::string(lease)};
  ATOLL_RETURN_IF_ERROR(write({&change, 1}));
  bind_name(std::string(name), std::string(lease));
  return {};
}

void PoolManager::bind_name(const std::string& name, const std::string& lease) {
  std::string& bound = names_[name];
  Entry& entry = leases_.at(lease);
  entry.names.insert(name);
  route(entry);
  if (!bound.empty() && bound != lease) {
    Entry& before = leases_.at(bound);
    before.names.erase(name);
    route(before);
  }
  bound = lease;
}

std::string PoolManager::lease_id_of(std::string_view id_or_name) const {
  const auto named = names_.find(id_or_name);
  return named == names_.end() ? std::string(id_or_name) : named->second;
}

std::string_view PoolManager::lease_name(const Lease& lease) const {
  const auto found = leases_.find(lease.id());
  return found == leases_.end() || found->second.names.empty() ? std::string_view()
                                                               : *found->second.names.begin();
}

Status PoolManager::delete_name(std::string_view name) {
  const auto found = names_.find(name);
  if (found == names_.end()) return not_found("lease name '", name, "' is not found");
  const Change change = DropLeaseName{std::string(name)};
  ATOLL_RETURN_IF_ERROR(write({&change, 1}));
  Entry& entry = leases_.at(found->second);
  entry.names.erase(found->first);
  route(entry);
  names_.erase(found);
  return {};
}

}  // namespace atl::pools
