#include "pools/leases/book/pool_manager.h"

#include <algorithm>
#include <utility>

namespace atl::pools {

PoolManager::PoolManager(const PoolContext& with, Store& store, PoolEvents& events)
    : with_(with), store_(store), events_(events) {}

PoolManager::~PoolManager() = default;

/// The log says once where it fails, and when it works again: clients may try as often as they like.
Status PoolManager::write(std::span<const Change> changes) {
  Status status = store_.write(changes);
  if (std::exchange(is_store_failing_, !status.ok()) == !status.ok()) return status;
  if (status.ok()) {
    with_.log.info(store_.file(), " can be written again");
  } else {
    with_.log.error(store_.file(), ": ", status.message(),
                    "; pools and leases stay as they are until it can be written");
  }
  return status;
}

// --- pools ---

Status PoolManager::create_pool(const PoolDefinition& definition) {
  ATOLL_RETURN_IF_ERROR(check(definition));
  if (pools_.contains(definition.name))
    return make_status(Code::kAlreadyExists, "pool '", definition.name, "' already exists");
  if (pools_.size() >= with_.settings.pools_max) {
    return make_status(Code::kResourceExhausted, "there are ", pools_.size(),
                       " pools, which is the most (option "
                       "'max_pools')");
  }
  const Change change = PoolRecord{definition, false};
  ATOLL_RETURN_IF_ERROR(write({&change, 1}));
  auto& pool =
      *pools_
           .emplace(definition.name, std::make_unique<Pool>(with_, static_cast<PoolOwner&>(*this),
                                                            backend_names_, PoolRecord{definition, false}))
           .first->second;
  publish(PoolEvent::Kind::kPoolCreated, pool);
  pool.keep_up();
  return {};
}

Status PoolManager::update_pool(std::string_view name, std::optional<uint32_t> min_instances,
                                std::optional<uint32_t> max_instances) {
  const auto found = pools_.find(name);
  if (found == pools_.end()) return not_found("pool '", name, "' is not found");
  Pool& pool = *found->second;
  PoolRecord changed = pool.record();
  if (changed.is_deleting)
    return make_status(Code::kFailedPrecondition, "pool '", name, "' is being deleted");
  PoolDefinition& definition = changed.definition;
  definition.min_instances = min_instances.value_or(definition.min_instances);
  definition.max_instances = max_instances.value_or(definition.max_instances);
  ATOLL_RETURN_IF_ERROR(check(definition));
  const Change change = changed;
  ATOLL_RETURN_IF_ERROR(write({&change, 1}));
  pool.resize(definition.min_instances, definition.max_instances);
  return {};
}

Status PoolManager::delete_pool(std::string_view name, bool force) {
  const auto found = pools_.find(name);
  if (found == pools_.end()) return not_found("pool '", name, "' is not found");
  Pool& pool = *found->second;
  if (pool.record().is_deleting) return {};
  if (const size_t leases = pool.leases().size(); leases != 0 && !force) {
    return make_status(Code::kFailedPrecondition, "pool '", name, "' has ", leases,
                       leases == 1 ? " lease" : " leases", ": release them, or delete it with force");
  }
  PoolRecord record = pool.record();
  record.is_deleting = true;
  const Change change = record;
  ATOLL_RETURN_IF_ERROR(write({&change, 1}));
  const std::vector<Lease*> leases(pool.leases().begin(), pool.leases().end());
  for (Lease* lease : leases) lease->end(LeaseState::kReleased);
  pool.begin_deletion();
  return {};
}

const Pool* PoolManager::find_pool(std::string_view name) const {
  const auto found = pools_.find(name);
  return found == pools_.end() ? nullptr : found->second.get();
}

void PoolManager::pool_empty(Pool& pool) {
  const Change change = DropPool{pool.name()};
  if (Status status = write({&change, 1}); !status.ok()) {
    with_.log.error("the end of pool '", pool.name(), "' is not recorded: ", status.text());
    with_.post_after(with_.settings.longest_backoff_ns,
                     make_task(alive_.only_while([this, name = pool.name()] {
                       if (const auto found = pools_.find(name); found != pools_.end())
                         found->second->keep_up();
                     })));
    return;
  }
  publish(PoolEvent::Kind::kPoolDeleted, pool);
  pools_.erase(pools_.find(pool.name()));
}

// --- instances ---

void PoolManager::instance_made(Pool& pool, PoolInstance& instance) {
  instances_[instance.id()] = &pool;
  publish(PoolEvent::Kind::kInstanceStarting, pool, &instance);
}

void PoolManager::instance_changed(Pool& pool, PoolInstance& instance) {
  if (instance.is_ready()) {
    publish(PoolEvent::Kind::kInstanceReady, pool, &instance);
  } else if (instance.state() == InstanceState::kFailed) {
    publish(PoolEvent::Kind::kInstanceFailed, pool, &instance, instance.failure().message());
  }
}

void PoolManager::instance_gone(Pool& pool, PoolInstance& instance) {
  instances_.erase(instance.id());
  if (instance.state() == InstanceState::kDraining)
    publish(PoolEvent::Kind::kInstanceStopped, pool, &instance);
}

void PoolManager::server_running(std::string_view id, const ServerAddress& address) noexcept {
  with_.executor.post(make_task(alive_.only_while([this, id = std::string(id), address] {
    if (PoolInstance* instance = find_instance(id)) instance->server_running(address);
  })));
}

void PoolManager::server_ended(std::string_view id, Status reason) noexcept {
  with_.executor.post(
      make_task(alive_.only_while([this, id = std::string(id), reason = std::move(reason)]() mutable {
        if (PoolInstance* instance = find_instance(id)) instance->server_ended(std::move(reason));
      })));
}

PoolInstance* PoolManager::find_instance(const std::string& id) {
  const auto pool = instances_.find(id);
  return pool == instances_.end() ? nullptr : pool->second->find_server(id);
}

// --- what was there before ---

Status PoolManager::restore() {
  Result<StoredState> stored = store_.load();
  if (!stored.ok()) return std::move(stored).status();
  for (const LeasedModel& model : stored->models) remember(model);
  for (const PoolRecord& record : stored->pools) {
    pools_.emplace(record.definition.name,
                   std::make_unique<Pool>(with_, static_cast<PoolOwner&>(*this), backend_names_, record));
  }
  for (const InstanceRecord& record : stored->instances) {
    if (const auto pool = pools_.find(record.pool); pool != pools_.end())
      pool->second->restore_instance(record);
  }
  is_restoring_ = true;
  for (const LeaseRecord& record : stored->leases) restore_lease(record);
  is_restoring_ = false;
  for (const std::string& id : std::exchange(homeless_, {})) {
    Lease& lease = *leases_.at(id).lease;
    if (Status placed = place(*pools_.find(lease.record.definition.pool)->second, lease, "moved");
        !placed.ok())
      lease.end(LeaseState::kFailed, placed);
  }
  for (const LeaseName& name : stored->names) {
    if (leases_.contains(name.lease)) bind_name(name.name, name.lease);
  }
  std::vector<Pool*> pools;
  for (const auto& [name, pool] : pools_) pools.push_back(pool.get());
  for (Pool* pool : pools) pool->keep_up();
  return {};
}

void PoolManager::restore_lease(const LeaseRecord& record) {
  // The calendar may have been set back meanwhile: no lease gets more time than it ever had. It is read once, so that
  // a lease whose time is not shortened expires when clients were told.
  const int64_t wall_ns = with_.clock.wall_ns();
  const int64_t left_ns =
      std::min(record.expires_wall_ns - wall_ns, record.expires_wall_ns - record.created_wall_ns);
  Entry& entry = add(record, after(with_.now_ns(), left_ns));
  Lease& lease = *entry.lease;
  if (!is_final(record.state)) lease.record.expires_wall_ns = after(wall_ns, left_ns);
  if (is_final(record.state)) {
    const int64_t since_ns = std::max<int64_t>(0, wall_ns - record.ended_wall_ns);
    return keep_history(entry, std::max<int64_t>(0, with_.settings.history_ns - since_ns));
  }
  const auto pool = pools_.find(record.definition.pool);
  PoolInstance* instance = pool == pools_.end() ? nullptr : pool->second->find(record.instance);
  const Needs needs = needs_of(record.definition);
  if (instance != nullptr && record.has_place &&
      pool->second->places().has_room(record.instance, needs.place)) {
    pool->second->put(lease, record.instance, needs.place);
    const bool ends = record.state == LeaseState::kReleasing || record.state == LeaseState::kUnloadingFailed;
    const LeaseState final =
        record.state == LeaseState::kUnloadingFailed ? LeaseState::kFailed : LeaseState::kReleased;
    if (!ends && left_ns > 0 && !pool->second->record().is_deleting) {
      lease.place(*instance);
      route(entry);
      return arm(entry, entry.expires_ns, &PoolManager::expire);
    }
    // Its models may be loaded on a server that is still there.
    lease.find_again(*instance);
    return lease.end(ends          ? final
                     : left_ns > 0 ? LeaseState::kReleased
                                   : LeaseState::kExpired,
                     Status(record.failure, record.reason));
  }
  // It has lost its instance, and waited.
  const bool goes = pool != pools_.end() && pool->second->record().is_deleting;
  if (goes || record.state == LeaseState::kReleasing) return lease.end(LeaseState::kReleased);
  if (left_ns <= 0) return lease.end(LeaseState::kExpired);
  if (pool == pools_.end()) return lease.end(LeaseState::kFailed, internal_error("its pool is not recorded"));
  arm(entry, entry.expires_ns, &PoolManager::expire);
  homeless_.push_back(record.id);
}

// --- what happens, for others ---

void PoolManager::publish(PoolEvent::Kind kind, const Pool& pool, const PoolInstance* instance,
                          std::string_view reason) {
  PoolEvent event;
  event.kind = kind;
  event.pool = pool.name();
  if (instance != nullptr) event.instance = instance->number();
  event.quota = pool.record().definition.quota;
  event.reason = reason;
  events_.happened(event);
}

void PoolManager::publish(PoolEvent::Kind kind, const Lease& lease, std::string_view reason, Code code,
                          int64_t deploy_ns) {
  PoolEvent event;
  event.kind = kind;
  event.pool = lease.record.definition.pool;
  event.lease = lease.id();
  event.instance = lease.record.instance;
  event.quota = lease.record.definition.quota;
  event.reason = reason;
  event.code = code;
  event.deploy_ns = deploy_ns;
  events_.happened(event);
}

}  // namespace atl::pools
