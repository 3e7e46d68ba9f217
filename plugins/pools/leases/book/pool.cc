#include "pools/leases/book/pool.h"

#include <algorithm>
#include <utility>

namespace atl::pools {

Pool::Pool(const PoolContext& with, ModelBackends& backends, PoolRecord record)
    : with_(with),
      backends_(backends),
      record_(std::move(record)),
      places_({record_.definition.name, record_.definition.quota, record_.definition.max_instances,
               record_.definition.enforce_backends, with.settings.unknown_needs_new_instance},
              backends.names()) {}

void Pool::change(PoolRecord record) {
  record_ = std::move(record);
  places_.set_instances_max(record_.definition.max_instances);
}

PoolInstance* Pool::find(uint32_t number) noexcept {
  const auto slot = slots_.find(number);
  return slot == slots_.end() ? nullptr : slot->second.instance.get();
}

size_t Pool::count_of(InstanceState state) const noexcept {
  return static_cast<size_t>(std::ranges::count_if(
      slots_, [&](const auto& slot) { return slot.second.instance->state() == state; }));
}

// --- instances ---

InstanceRecord Pool::draft_instance() const {
  return with_new_server({name(), places_.unused_number(), {}, {}, InstanceBackends::kBlank, {}});
}

InstanceRecord Pool::with_new_server(InstanceRecord record) const {
  record.id = with_.make_id();
  record.key = with_.make_key();
  return record;
}

InstanceRecord Pool::record_of(uint32_t number) const {
  const Place& place = places_.place(number);
  return {name(),
          number,
          instance(number).id(),
          instance(number).key(),
          place.backends_state,
          backend_names().names_of(place.backends)};
}

void Pool::add_place(const InstanceRecord& record) {
  places_.add_instance(record.number);
  BackendSet backends;
  bool all = true;
  for (const std::string& backend : record.backends) all &= backends_.names().add(backend, backends);
  places_.set_backends(record.number, all ? record.backends_state : InstanceBackends::kUnknown, backends);
}

ServerSpec Pool::server_of(const InstanceRecord& record) const {
  const InstanceDefinition& definition = record_.definition.instance;
  ServerSpec server;
  server.id = record.id;
  server.pool = name();
  server.instance = record.number;
  server.runtime = definition.runtime;
  if (const std::string& all = with_.settings.repositories; !all.empty())
    server.repository = cat(all, "/", record.id);
  server.sources = with_.settings.lease_limits.sources;
  server.cpus = definition.cpus;
  server.gpus = definition.gpus;
  server.memory_bytes = definition.memory_bytes;
  server.key = record.key;
  return server;
}

std::unique_ptr<PoolInstance> Pool::set_instance(std::unique_ptr<PoolInstance> instance, bool is_adopted) {
  Slot& slot = slots_[instance->number()];
  slot.is_adopted = is_adopted;
  slot.idle_since_ns = with_.now_ns();
  return std::exchange(slot.instance, std::move(instance));
}

void Pool::instance_ready(uint32_t number) {
  Slot& slot = slots_.at(number);
  slot.is_adopted = false;
  slot.idle_since_ns = with_.now_ns();
  backoff_ns_ = not_before_ns_ = 0;
}

void Pool::instance_failed(uint32_t number) {
  places_.set_open(number, false);
  backoff_ns_ =
      std::clamp(2 * backoff_ns_, with_.settings.first_backoff_ns, with_.settings.longest_backoff_ns);
  not_before_ns_ = with_.now_ns() + backoff_ns_;
}

void Pool::remove_instance(uint32_t number) {
  places_.remove_instance(number);
  slots_.erase(number);
}

// --- how many ---

PoolStep Pool::next() {
  PoolStep step;
  step.again_ns = stop_idle();
  if (living() < wanted() && places_.instance_count() < places_.rules().instances_max) {
    if (with_.now_ns() >= not_before_ns_) {
      step.kind = PoolStep::Kind::kStart;
    } else {
      step.again_ns = std::min(step.again_ns, not_before_ns_);
    }
  } else if (record_.is_deleting && slots_.empty() && leases_.empty()) {
    step.kind = PoolStep::Kind::kGone;
  }
  return step;
}

/// Beyond the smallest number each; of the others those that are bound to backends which nobody needs any more.
bool Pool::may_be_stopped(uint32_t number, const Slot& slot, bool is_spare) const {
  if (places_.place(number).leases != 0) return false;
  if (slot.instance->state() == InstanceState::kStarting) return record_.is_deleting;
  if (slot.instance->state() != InstanceState::kReady) return false;
  const bool is_blank = !record_.definition.enforce_backends ||
                        places_.place(number).backends_state == InstanceBackends::kBlank;
  return is_spare || !is_blank;
}

/// One whose first lease was never deployed can host nothing, so nobody is waited for.
int64_t Pool::stop_at(uint32_t number, const Slot& slot) const {
  const bool is_useless = record_.definition.enforce_backends &&
                          places_.place(number).backends_state == InstanceBackends::kUnknown;
  return slot.idle_since_ns + (record_.is_deleting || is_useless ? 0 : with_.settings.idle_ns);
}

int64_t Pool::stop_idle() {
  for (;;) {
    PoolInstance* first = nullptr;
    int64_t first_ns = INT64_MAX;
    const bool is_spare = living() > wanted();
    for (auto& [number, slot] : slots_) {
      if (!may_be_stopped(number, slot, is_spare) || stop_at(number, slot) >= first_ns) continue;
      first = slot.instance.get();
      first_ns = stop_at(number, slot);
    }
    if (first == nullptr || with_.now_ns() < first_ns) return first_ns;
    places_.set_open(first->number(), false);
    first->stop();
  }
}

// --- leases ---

std::vector<Lease*> Pool::leases_on(const PoolInstance& instance) const {
  std::vector<Lease*> here;
  for (Lease* lease : leases_) {
    if (lease->instance() == &instance) here.push_back(lease);
  }
  return here;
}

void Pool::put(Lease& lease, uint32_t number) {
  places_.put(number, backends_.needs_of(lease.record.definition));
  leases_.insert(&lease);
  lease.record.instance = number;
  lease.record.has_place = true;
}

void Pool::wait(Lease& lease, const Status& reason) {
  lease.record.has_place = false;
  leases_.insert(&lease);
  waiting_.insert_or_assign(&lease, reason.clone());
}

void Pool::take_off(Lease& lease) {
  leases_.erase(&lease);
  if (waiting_.erase(&lease) != 0) return;
  const uint32_t number = lease.record.instance;
  places_.take_off(number, backends_.needs_of(lease.record.definition));
  if (const auto slot = slots_.find(number); slot != slots_.end())
    slot->second.idle_since_ns = with_.now_ns();
}

}  // namespace atl::pools
