#include "pools/leases/book/pool_runner.h"

#include <algorithm>
#include <utility>

namespace atl::pools {

PoolRunner::PoolRunner(const PoolContext& with, PoolBook& book, PoolEvents& events)
    : with_(with), book_(book), events_(events) {
  book_.leases.set_expired([this](Lease& lease) { end(lease, LeaseState::kExpired); });
}

// --- leases ---

Status PoolRunner::place(Pool& pool, Lease& lease, std::string_view why) {
  const PlaceNeeds needs = book_.backends.needs_of(lease.record.definition);
  PoolPlaces::Decision decision = pool.places().decide(needs, with_.placement);
  if (decision.kind == PoolPlaces::Decision::Kind::kRefused) return std::move(decision.refusal);
  const bool is_new = decision.kind == PoolPlaces::Decision::Kind::kNewInstance;
  InstanceRecord instance = is_new ? pool.draft_instance() : pool.record_of(decision.instance);
  if (instance.backends_state == InstanceBackends::kBlank) {
    instance.backends_state = needs.backends ? InstanceBackends::kKnown : InstanceBackends::kUnknown;
    instance.backends = book_.backends.names().names_of(needs.backends.value_or(BackendSet()));
  }
  LeaseRecord record = lease.record;
  record.instance = instance.number;
  record.has_place = true;
  record.state = LeaseState::kPending;
  const Change changes[] = {instance, record};
  ATOLL_RETURN_IF_ERROR(book_.store.write(changes));
  if (is_new) {
    pool.add_place(instance);
    (void)start_instance(pool, instance, false);
  }
  pool.put(lease, instance.number);
  lease.place(*pool.find(instance.number));
  book_.leases.placed(book_.leases.at(lease.id()), why);
  advance(lease);
  return {};
}

void PoolRunner::advance(Lease& lease) {
  // What is asked for is answered later, if the lease still waits for it then.
  const auto then = [this, &lease](auto said) {
    return lease.asked().only_while([this, &lease, said](auto&&... answer) {
      (lease.*said)(std::forward<decltype(answer)>(answer)...);
      advance(lease);
    });
  };
  for (;;) {
    const LeaseStep step = lease.next(book_.backends);
    switch (step.kind) {
      case LeaseStep::Kind::kNothing:
        return;
      case LeaseStep::Kind::kChanged:
        book_.leases.publish(lease);
        break;
      case LeaseStep::Kind::kLoad:
        with_.hosts.load(lease.instance()->server(), *step.model, then(&Lease::loaded));
        break;
      case LeaseStep::Kind::kFindBackends:
        with_.hosts.find_backends(lease.instance()->address(), step.model->name, then(&Lease::found));
        break;
      case LeaseStep::Kind::kUnload:
        with_.hosts.unload(lease.instance()->server(), step.model->name, then(&Lease::unloaded));
        break;
      case LeaseStep::Kind::kRecordActive:
        record_active(lease, step.found);
        break;
      case LeaseStep::Kind::kRecordEnd:
        record_end(lease, step.end_state);
        break;
      case LeaseStep::Kind::kWait:
        with_.post_after(step.wait_ns, make_task(then(&Lease::retry)));
        break;
    }
  }
}

void PoolRunner::record_active(Lease& lease, std::span<const LeasedModel> found) {
  Pool& pool = *book_.find_pool(lease.record.definition.pool);
  for (const LeasedModel& model : found) {
    if (!book_.backends.remember(model))
      with_.log.warning("model '", model.name,
                        "': its backends have names that cannot be used, and stay unknown");
  }
  std::vector<Change> changes(found.begin(), found.end());
  LeaseRecord record = lease.record;
  record.state = LeaseState::kActive;
  changes.push_back(record);
  const std::optional<BackendSet> backends = book_.backends.of(record.definition);
  const bool is_found =
      pool.places().place(record.instance).backends_state == InstanceBackends::kUnknown && backends;
  if (is_found) {
    InstanceRecord instance = pool.record_of(record.instance);
    instance.backends_state = InstanceBackends::kKnown;
    instance.backends = book_.backends.names().names_of(*backends);
    changes.push_back(instance);
  }
  const Status recorded = book_.store.write(changes);
  if (recorded.ok()) {
    if (is_found) pool.places().set_backends(record.instance, InstanceBackends::kKnown, *backends);
    book_.leases.at(lease.id()).was_moved = false;
  }
  lease.activated(recorded);
}

void PoolRunner::record_end(Lease& lease, LeaseState end_state) {
  LeaseRecord record = lease.record;
  record.state = end_state;
  record.ended_wall_ns = with_.clock.wall_ns();
  const Status recorded = book_.store.write(record);
  lease.ended(recorded, std::move(record));
  if (!recorded.ok()) return;
  Pool* const pool = book_.find_pool(lease.record.definition.pool);
  if (pool != nullptr && pool->leases().contains(&lease)) pool->take_off(lease);
  book_.leases.publish(lease);
  book_.leases.keep_history(book_.leases.at(lease.id()), with_.settings.history_ns);
  if (pool != nullptr) keep_up(*pool);
}

void PoolRunner::end(Lease& lease, LeaseState state, const Status& failure) {
  lease.end(state, failure);
  advance(lease);
}

// --- instances ---

std::unique_ptr<PoolInstance> PoolRunner::start_instance(Pool& pool, const InstanceRecord& record,
                                                         bool adopt) {
  auto made =
      std::make_unique<PoolInstance>(with_, static_cast<InstanceOwner&>(*this), pool.server_of(record));
  PoolInstance& instance = *made;
  std::unique_ptr<PoolInstance> before = pool.set_instance(std::move(made), adopt);
  instances_[record.id] = &instance;
  events_.happened(event_of(PoolEvent::Kind::kInstanceStarting, pool, &instance));
  if (adopt) {
    instance.adopt(*this);
  } else {
    instance.launch(*this);
  }
  return before;
}

void PoolRunner::server_running(std::string_view id, const ServerAddress& address) noexcept {
  with_.executor.post(make_task(alive_.only_while([this, id = std::string(id), address] {
    if (const auto found = instances_.find(id); found != instances_.end())
      found->second->server_running(address);
  })));
}

void PoolRunner::server_ended(std::string_view id, Status reason) noexcept {
  with_.executor.post(
      make_task(alive_.only_while([this, id = std::string(id), reason = std::move(reason)]() mutable {
        if (const auto found = instances_.find(id); found != instances_.end())
          found->second->server_ended(std::move(reason));
      })));
}

void PoolRunner::instance_ready(PoolInstance& instance) {
  Pool& pool = *book_.find_pool(instance.pool());
  pool.instance_ready(instance.number());
  events_.happened(event_of(PoolEvent::Kind::kInstanceReady, pool, &instance));
  for (Lease* lease : pool.leases_on(instance)) advance(*lease);
  keep_up(pool);
}

void PoolRunner::instance_seen(PoolInstance& instance, const ServedModels& models, int64_t asked_ns) {
  for (Lease* lease : book_.find_pool(instance.pool())->leases_on(instance)) {
    lease->instance_seen(models, asked_ns);
    advance(*lease);
  }
}

void PoolRunner::instance_failed(PoolInstance& instance, const Status& reason) {
  Pool& pool = *book_.find_pool(instance.pool());
  if (pool.is_adopted(instance.number())) return;  // see instance_ended()
  with_.log.warning("pool '", pool.name(), "': instance i", instance.number(), " failed: ", reason.text());
  pool.instance_failed(instance.number());
  events_.happened(event_of(PoolEvent::Kind::kInstanceFailed, pool, &instance, reason.message()));
  take_leases(pool, instance, reason);
  keep_up(pool);
}

void PoolRunner::instance_ended(PoolInstance& instance) {
  Pool& pool = *book_.find_pool(instance.pool());
  const uint32_t number = instance.number();
  instances_.erase(instance.id());
  if (instance.state() == InstanceState::kDraining)
    events_.happened(event_of(PoolEvent::Kind::kInstanceStopped, pool, &instance));
  if (pool.is_adopted(number)) {
    // A server that went while this process was not there: another one takes its place, with the leases that it had.
    if (!pool.record().is_deleting && replace_server(pool, instance)) return move_waiting(pool);
    pool.places().set_open(number, false);
    take_leases(pool, instance, instance.failure());
  }
  // Not recorded as gone, it is looked for after a restart, and found gone then.
  if (Status status = book_.store.write(DropInstance{pool.name(), number}); !status.ok())
    with_.log.error("pool '", pool.name(), "': the end of instance i", number,
                    " is not recorded: ", status.text());
  pool.remove_instance(number);
  move_waiting(pool);
  keep_up(pool);
}

/// \returns false if that cannot be recorded
bool PoolRunner::replace_server(Pool& pool, PoolInstance& instance) {
  const InstanceRecord record = pool.with_new_server(pool.record_of(instance.number()));
  if (!book_.store.write(record).ok()) return false;
  const std::vector<Lease*> here = pool.leases_on(instance);
  const std::unique_ptr<PoolInstance> before = start_instance(pool, record, false);
  for (Lease* lease : here) {
    lease->instance_lost(/*keeps_place=*/true);
    advance(*lease);  // routes have it without a server; one that was ending is over
    if (is_final(lease->state())) continue;
    lease->resume(*pool.find(record.number), /*is_loaded=*/false);
    advance(*lease);
  }
  return true;
}

// --- leases that have lost their instance ---

void PoolRunner::take_leases(Pool& pool, const PoolInstance& instance, const Status& reason) {
  for (Lease* lease : pool.leases_on(instance)) {
    const bool goes_on = !lease->is_ending();
    lease->instance_lost(/*keeps_place=*/false);
    advance(*lease);
    if (goes_on) move(pool, *lease, reason, false);
  }
}

/// To another instance once, and not where a further one would fare no better.
/// \param is_last  it need not wait: there is nothing to wait for
void PoolRunner::move(Pool& pool, Lease& lease, const Status& reason, bool is_last) {
  LeaseBook::Entry& entry = book_.leases.at(lease.id());
  pool.take_off(lease);
  const bool cannot_start =
      reason.code() == Code::kResourceExhausted || reason.code() == Code::kInvalidArgument;
  if (entry.was_moved || cannot_start || pool.record().is_deleting) {
    const Code code = cannot_start ? Code::kResourceExhausted : Code::kUnavailable;
    return end(lease, LeaseState::kFailed,
               make_status(code, "instance i", lease.record.instance, " of pool '", pool.name(),
                           "' failed: ", reason.message()));
  }
  const Status placed = place(pool, lease, "moved");
  if (placed.ok()) {
    entry.was_moved = true;
  } else if (!is_last) {
    pool.wait(lease, reason);
    if (Status status = book_.store.write(lease.record); !status.ok())
      with_.log.error("lease ", lease.id(), " waits for a place, which is not recorded: ", status.text());
  } else {
    end(lease, LeaseState::kFailed,
        make_status(placed.code(), "instance i", lease.record.instance, " of pool '", pool.name(),
                    "' failed (", reason.message(), "), and there is no other: ", placed.message()));
  }
}

/// There is one instance less: room for another one, if it was the number of them that was lacking.
void PoolRunner::move_waiting(Pool& pool) {
  held_ = &pool;
  const bool is_last = !pool.has_failed_instance();
  std::vector<Lease*> waiting;
  for (const auto& [lease, reason] : pool.waiting()) waiting.push_back(lease);
  for (Lease* lease : waiting) {
    const auto found = pool.waiting().find(lease);
    if (found != pool.waiting().end()) move(pool, *lease, found->second.clone(), is_last);
  }
  held_ = nullptr;
}

// --- how many instances ---

void PoolRunner::keep_up(Pool& pool) {
  if (held_ == &pool) return;
  for (;;) {
    PoolStep step = pool.next();
    if (step.kind == PoolStep::Kind::kGone) return remove(pool);
    if (step.kind == PoolStep::Kind::kStart) {
      const InstanceRecord record = pool.draft_instance();
      const Status recorded = book_.store.write(record);
      if (recorded.ok()) {
        pool.add_place(record);
        (void)start_instance(pool, record, false);
        continue;
      }
      with_.log.error("pool '", pool.name(), "': no instance is started: ", recorded.text());
      step.again_ns = std::min(step.again_ns, with_.now_ns() + with_.settings.first_backoff_ns);
    }
    return pool.wake_at(step.again_ns, [this, &pool] { keep_up(pool); });
  }
}

void PoolRunner::remove(Pool& pool) {
  if (Status status = book_.store.write(DropPool{pool.name()}); !status.ok()) {
    with_.log.error("the end of pool '", pool.name(), "' is not recorded: ", status.text());
    return pool.wake_at(with_.now_ns() + with_.settings.longest_backoff_ns, [this, &pool] { keep_up(pool); });
  }
  events_.happened(event_of(PoolEvent::Kind::kPoolDeleted, pool));
  book_.pools.erase(book_.pools.find(pool.name()));
}

}  // namespace atl::pools
