#include "pools/leases/book/pool_manager.h"

#include <algorithm>
#include <utility>

namespace atl::pools {
namespace {

constexpr size_t kNamesMax = 100'000;

}  // namespace

PoolManager::PoolManager(const PoolContext& with, Store& store, PoolEvents& events, LeaseRoutes& routes)
    : with_(with), events_(events), book_(with, store, events, routes), runner_(with, book_, events) {
  store.set_log(with.log);
}

// --- pools ---

Status PoolManager::create_pool(const PoolDefinition& definition) {
  ATOLL_RETURN_IF_ERROR(check(definition));
  if (book_.find_pool(definition.name) != nullptr)
    return make_status(Code::kAlreadyExists, "pool '", definition.name, "' already exists");
  if (book_.pools.size() >= with_.settings.pools_max)
    return make_status(Code::kResourceExhausted, "there are ", book_.pools.size(),
                       " pools, which is the most (option 'max_pools')");
  const PoolRecord record{definition, false};
  ATOLL_RETURN_IF_ERROR(book_.store.write(record));
  Pool& pool = *book_.pools.emplace(definition.name, std::make_unique<Pool>(with_, book_.backends, record))
                    .first->second;
  events_.happened(event_of(PoolEvent::Kind::kPoolCreated, pool));
  runner_.keep_up(pool);
  return {};
}

Result<Pool*> PoolManager::find_open_pool(std::string_view name) const {
  Pool* const pool = book_.find_pool(name);
  if (pool == nullptr) return not_found("pool '", name, "' is not found");
  if (pool->record().is_deleting)
    return make_status(Code::kFailedPrecondition, "pool '", name, "' is being deleted");
  return pool;
}

Status PoolManager::update_pool(std::string_view name, std::optional<uint32_t> min_instances,
                                std::optional<uint32_t> max_instances) {
  Result<Pool*> pool = find_open_pool(name);
  if (!pool.ok()) return std::move(pool).status();
  PoolRecord changed = (*pool)->record();
  PoolDefinition& definition = changed.definition;
  definition.min_instances = min_instances.value_or(definition.min_instances);
  definition.max_instances = max_instances.value_or(definition.max_instances);
  ATOLL_RETURN_IF_ERROR(check(definition));
  ATOLL_RETURN_IF_ERROR(book_.store.write(changed));
  (*pool)->change(std::move(changed));
  runner_.keep_up(**pool);
  return {};
}

Status PoolManager::delete_pool(std::string_view name, bool force) {
  Pool* const pool = book_.find_pool(name);
  if (pool == nullptr) return not_found("pool '", name, "' is not found");
  PoolRecord record = pool->record();
  if (record.is_deleting) return {};
  if (const size_t leases = pool->leases().size(); leases != 0 && !force) {
    return make_status(Code::kFailedPrecondition, "pool '", name, "' has ", leases,
                       leases == 1 ? " lease" : " leases", ": release them, or delete it with force");
  }
  record.is_deleting = true;
  ATOLL_RETURN_IF_ERROR(book_.store.write(record));
  const std::vector<Lease*> leases(pool->leases().begin(), pool->leases().end());
  for (Lease* lease : leases) runner_.end(*lease, LeaseState::kReleased);
  pool->change(std::move(record));
  runner_.keep_up(*pool);
  return {};
}

// --- leases ---

Result<Pool*> PoolManager::pool_for(const LeaseDefinition& definition) const {
  ATOLL_RETURN_IF_ERROR(check(definition, with_.settings.lease_limits));
  return find_open_pool(definition.pool);
}

void PoolManager::check_models(const LeaseDefinition& definition, std::function<void(Status)> done) {
  if (!pool_for(definition).ok() || !book_.leases.find_key(definition).empty()) return done({});
  with_.hosts.check_models(definition.models, alive_.only_while(std::move(done)));
}

Result<std::string> PoolManager::acquire(const LeaseDefinition& definition) {
  Result<Pool*> pool = pool_for(definition);
  if (!pool.ok()) return std::move(pool).status();
  if (std::string known = book_.leases.find_key(definition); !known.empty()) {
    if (book_.leases.find(known)->record.definition == definition) return known;
    return make_status(Code::kAlreadyExists, "idempotency_key '", definition.idempotency_key,
                       "' is that of lease ", known, ", which is another one");
  }
  if (const uint32_t live = book_.leases.live_count(); live >= with_.settings.leases_max)
    return make_status(Code::kResourceExhausted, "there are ", live,
                       " leases, which is the most (option 'max_leases')");
  LeaseRecord record;
  record.id = with_.make_id();
  record.definition = definition;
  record.duration_ns = definition.duration_ns.value_or(with_.settings.lease_limits.default_duration_ns);
  record.created_wall_ns = with_.clock.wall_ns();
  record.expires_wall_ns = after(record.created_wall_ns, record.duration_ns);
  const std::string id = record.id;
  Lease& lease = *book_.leases.add(record, after(with_.now_ns(), record.duration_ns)).lease;
  if (Status placed = runner_.place(**pool, lease, {}); !placed.ok()) {
    events_.happened(event_of(PoolEvent::Kind::kLeaseRefused, lease, placed.message(), placed.code()));
    book_.leases.forget(id);
    return placed;
  }
  return id;
}

Result<LeasePlan> PoolManager::plan(const LeaseDefinition& definition) {
  Result<Pool*> pool = pool_for(definition);
  if (!pool.ok()) return std::move(pool).status();
  const PlaceNeeds needs = book_.backends.needs_of(definition);
  PoolPlaces& places = (*pool)->places();
  PoolPlaces::Decision decision = places.decide(needs, with_.placement);
  if (decision.refusal.code() == Code::kInvalidArgument) return std::move(decision.refusal);
  LeasePlan plan;
  if (decision.kind == PoolPlaces::Decision::Kind::kInstance) plan.instance = decision.instance;
  plan.starts_instance = decision.kind == PoolPlaces::Decision::Kind::kNewInstance;
  plan.refusal = std::move(decision.refusal);
  for (const Place& place : places.places()) plan.instances.push_back({place, places.why_not(place, needs)});
  return plan;
}

Result<int64_t> PoolManager::renew(std::string_view id, std::optional<int64_t> duration_ns) {
  const Lease* const lease = book_.leases.find(id);
  if (lease == nullptr) return no_lease(id);
  if (lease->is_ending() || is_final(lease->state()))
    return make_status(Code::kFailedPrecondition, "lease '", id, "' is ", name_of(lease->state()));
  Result<int64_t> by =
      checked_duration(duration_ns.value_or(lease->record.duration_ns), with_.settings.lease_limits);
  if (!by.ok()) return by;
  return book_.leases.renew(book_.leases.at(lease->id()), *by, "client");
}

Status PoolManager::release(std::string_view id) {
  if (book_.leases.find(id) == nullptr) return no_lease(id);
  Lease& lease = *book_.leases.at(std::string(id)).lease;
  if (is_final(lease.state())) return {};
  // Also of one that ends already, since that is not on the disk before its end.
  LeaseRecord record = lease.record;
  record.state = LeaseState::kReleasing;
  ATOLL_RETURN_IF_ERROR(book_.store.write(record));
  runner_.end(lease, LeaseState::kReleased);
  return {};
}

// --- names ---

Status PoolManager::set_name(std::string_view owner, std::string_view name, std::string_view lease) {
  ATOLL_RETURN_IF_ERROR(check_name("name", name));
  if (book_.leases.find_of(owner, lease) == nullptr) return no_lease(lease);
  const LeaseName named{std::string(name), std::string(lease), std::string(owner)};
  if (const size_t all = book_.names.count(); all >= kNamesMax && !book_.names.of_owner(owner).contains(name))
    return make_status(Code::kResourceExhausted, "there are ", all, " names, which is the most");
  ATOLL_RETURN_IF_ERROR(book_.store.write(named));
  const std::string before = book_.names.bind(named);
  book_.leases.route(book_.leases.at(named.lease));
  if (!before.empty() && before != lease) book_.leases.route(book_.leases.at(before));
  return {};
}

Status PoolManager::delete_name(std::string_view owner, std::string_view name) {
  if (!book_.names.of_owner(owner).contains(name)) return not_found("lease name '", name, "' is not found");
  ATOLL_RETURN_IF_ERROR(book_.store.write(DropLeaseName{std::string(owner), std::string(name)}));
  book_.leases.route(book_.leases.at(book_.names.remove(owner, name)));
  return {};
}

// --- what was there before ---

Status PoolManager::restore() {
  Result<StoredState> stored = book_.store.load();
  if (!stored.ok()) return std::move(stored).status();
  for (const LeasedModel& model : stored->models) book_.backends.remember(model);
  for (const PoolRecord& record : stored->pools)
    book_.pools.emplace(record.definition.name, std::make_unique<Pool>(with_, book_.backends, record));
  for (const InstanceRecord& record : stored->instances) {
    if (Pool* const pool = book_.find_pool(record.pool)) {
      pool->add_place(record);
      (void)runner_.start_instance(*pool, record, true);
    }
  }
  std::vector<Lease*> homeless;
  for (const LeaseRecord& record : stored->leases) {
    if (restore_lease(record)) homeless.push_back(book_.leases.at(record.id).lease.get());
  }
  for (const LeaseName& name : stored->names) {
    if (book_.leases.find_of(name.owner, name.lease) != nullptr) (void)book_.names.bind(name);
  }
  for (Lease* lease : homeless) {
    Status placed = runner_.place(*book_.find_pool(lease->record.definition.pool), *lease, "moved");
    if (!placed.ok()) lease->end(LeaseState::kFailed, placed);
  }
  // Only now that all of them are there: a pool must not go before its leases are known.
  for (const LeaseRecord& record : stored->leases) {
    LeaseBook::Entry& entry = book_.leases.at(record.id);
    book_.leases.route(entry);
    runner_.advance(*entry.lease);
  }
  std::vector<Pool*> pools;
  for (const auto& [name, pool] : book_.pools) pools.push_back(pool.get());
  for (Pool* pool : pools) runner_.keep_up(*pool);
  return {};
}

bool PoolManager::restore_lease(const LeaseRecord& record) {
  // The calendar may have been set back meanwhile: no lease gets more time than it ever had. It is read once, so that
  // a lease whose time is not shortened expires when clients were told.
  const int64_t wall_ns = with_.clock.wall_ns();
  const int64_t left_ns =
      std::min(record.expires_wall_ns - wall_ns, record.expires_wall_ns - record.created_wall_ns);
  LeaseBook::Entry& entry = book_.leases.add(record, after(with_.now_ns(), left_ns));
  Lease& lease = *entry.lease;
  if (is_final(record.state)) {
    const int64_t since_ns = std::max<int64_t>(0, wall_ns - record.ended_wall_ns);
    book_.leases.keep_history(entry, std::max<int64_t>(0, with_.settings.history_ns - since_ns));
    return false;
  }
  lease.record.expires_wall_ns = after(wall_ns, left_ns);
  Pool* const pool = book_.find_pool(record.definition.pool);
  PoolInstance* const instance = pool == nullptr ? nullptr : pool->find(record.instance);
  if (instance != nullptr && record.has_place &&
      pool->places().has_room(record.instance, book_.backends.needs_of(record.definition))) {
    pool->put(lease, record.instance);
    const bool has_failed = record.state == LeaseState::kUnloadingFailed;
    const bool ends = has_failed || record.state == LeaseState::kReleasing;
    if (!ends && left_ns > 0 && !pool->record().is_deleting) {
      lease.place(*instance);
      return false;
    }
    // Its models may be loaded on a server that is still there.
    lease.resume(*instance, /*is_loaded=*/true);
    const LeaseState otherwise = left_ns > 0 ? LeaseState::kReleased : LeaseState::kExpired;
    lease.end(has_failed ? LeaseState::kFailed
              : ends     ? LeaseState::kReleased
                         : otherwise,
              Status(record.failure, record.reason));
    return false;
  }
  // It has lost its instance, and waited.
  const bool goes = pool != nullptr && pool->record().is_deleting;
  if (goes || record.state == LeaseState::kReleasing) {
    lease.end(LeaseState::kReleased);
  } else if (left_ns <= 0) {
    lease.end(LeaseState::kExpired);
  } else if (pool == nullptr) {
    lease.end(LeaseState::kFailed, internal_error("its pool is not recorded"));
  } else {
    return true;
  }
  return false;
}

}  // namespace atl::pools
