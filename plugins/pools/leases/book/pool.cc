#include "pools/leases/book/pool.h"

#include <algorithm>
#include <utility>

namespace atl::pools {

Pool::Pool(const PoolContext& with, PoolOwner& owner, BackendNames& names, PoolRecord record)
    : with_(with),
      owner_(owner),
      names_(names),
      record_(std::move(record)),
      places_({record_.definition.name, record_.definition.quota, record_.definition.max_instances,
               record_.definition.enforce_backends, with.settings.unknown_needs_new_instance},
              names) {}

void Pool::resize(uint32_t min_instances, uint32_t max_instances) {
  record_.definition.min_instances = min_instances;
  record_.definition.max_instances = max_instances;
  places_.set_instances_max(max_instances);
  keep_up();
}

void Pool::begin_deletion() {
  record_.is_deleting = true;
  keep_up();
}

PoolInstance* Pool::find(uint32_t number) noexcept {
  const auto slot = slots_.find(number);
  return slot == slots_.end() ? nullptr : slot->second.instance.get();
}

PoolInstance* Pool::find_server(std::string_view id) noexcept {
  const auto slot =
      std::ranges::find_if(slots_, [&](const auto& one) { return one.second.instance->id() == id; });
  return slot == slots_.end() ? nullptr : slot->second.instance.get();
}

uint32_t Pool::living() const noexcept {
  return static_cast<uint32_t>(std::ranges::count_if(slots_, [](const auto& slot) {
    const InstanceState state = slot.second.instance->state();
    return state == InstanceState::kStarting || state == InstanceState::kReady;
  }));
}

// --- instances ---

InstanceRecord Pool::draft_instance() const {
  InstanceRecord record;
  record.pool = name();
  record.number = places_.unused_number();
  record.id = with_.make_id();
  record.key = with_.make_key();
  return record;
}

InstanceRecord Pool::record_of(uint32_t number) const {
  const Place& place = places_.place(number);
  InstanceRecord record;
  record.pool = name();
  record.number = number;
  record.id = slots_.at(number).instance->id();
  record.key = slots_.at(number).instance->key();
  record.backends_state = place.backends_state;
  record.backends = names_.names_of(place.backends);
  return record;
}

void Pool::start_instance(const InstanceRecord& record) {
  places_.add_instance(record.number);
  make_instance(record, false);
}

void Pool::restore_instance(const InstanceRecord& record) {
  places_.add_instance(record.number);
  BackendSet backends;
  bool all = true;
  for (const std::string& backend : record.backends) all &= names_.add(backend, backends);
  places_.restore_backends(record.number, all ? record.backends_state : InstanceBackends::kUnknown, backends);
  make_instance(record, true);
}

void Pool::make_instance(const InstanceRecord& record, bool adopt) {
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
  Slot& slot = slots_[record.number];
  slot.instance =
      std::make_unique<PoolInstance>(with_, static_cast<InstanceOwner&>(*this), std::move(server));
  slot.is_adopted = adopt;
  slot.idle_since_ns = with_.now_ns();
  owner_.instance_made(*this, *slot.instance);
  if (adopt) {
    slot.instance->adopt();
  } else {
    slot.instance->launch();
  }
}

void Pool::instance_ready(PoolInstance& instance) {
  Slot& slot = slots_.at(instance.number());
  slot.is_adopted = false;
  slot.idle_since_ns = with_.now_ns();
  backoff_ns_ = not_before_ns_ = 0;
  owner_.instance_changed(*this, instance);
  for (Lease* lease : leases_on(instance)) {
    if (leases_.contains(lease)) lease->instance_ready();
  }
  keep_up();
}

void Pool::instance_failed(PoolInstance& instance, const Status& reason) {
  if (slots_.at(instance.number()).is_adopted) return;  // see instance_ended()
  with_.log.warning("pool '", name(), "': instance i", instance.number(), " failed: ", reason.text());
  places_.set_open(instance.number(), false);
  backoff_ns_ =
      std::clamp(2 * backoff_ns_, with_.settings.first_backoff_ns, with_.settings.longest_backoff_ns);
  not_before_ns_ = with_.now_ns() + backoff_ns_;
  owner_.instance_changed(*this, instance);
  take_leases(instance, reason);
  keep_up();
}

void Pool::instance_seen(PoolInstance& instance, const ServedModels& models, int64_t asked_ns) {
  for (Lease* lease : leases_on(instance)) {
    if (leases_.contains(lease)) lease->instance_seen(models, asked_ns);
  }
}

void Pool::take_leases(const PoolInstance& instance, const Status& reason) {
  for (Lease* lease : leases_on(instance)) {
    if (leases_.contains(lease) && lease->instance_lost()) owner_.lease_lost(*this, *lease, reason, false);
  }
}

void Pool::instance_ended(PoolInstance& instance) {
  owner_.instance_gone(*this, instance);
  const uint32_t number = instance.number();
  if (slots_.at(number).is_adopted) {
    // A server that went while this process was not there: another one takes its place, with the leases that it had.
    if (!record_.is_deleting && replace_server(instance)) return place_waiting();
    places_.set_open(number, false);
    take_leases(instance, instance.failure());
  }
  const Change gone = DropInstance{name(), number};
  // Not recorded as gone, it is looked for after a restart, and found gone then.
  if (Status status = owner_.write({&gone, 1}); !status.ok())
    with_.log.error("pool '", name(), "': the end of instance i", number,
                    " is not recorded: ", status.text());
  places_.remove_instance(number);
  slots_.erase(number);
  place_waiting();
  keep_up();
}

/// \returns false if that cannot be recorded
bool Pool::replace_server(PoolInstance& instance) {
  InstanceRecord record = record_of(instance.number());
  record.id = with_.make_id();
  record.key = with_.make_key();
  const Change change = record;
  if (!owner_.write({&change, 1}).ok()) return false;
  const std::vector<Lease*> here = leases_on(instance);
  const std::unique_ptr<PoolInstance> before = std::move(slots_.at(instance.number()).instance);
  make_instance(record, false);
  for (Lease* lease : here) {
    if (leases_.contains(lease)) lease->move_to(*slots_.at(record.number).instance);
  }
  return true;
}

std::vector<Lease*> Pool::leases_on(const PoolInstance& instance) const {
  std::vector<Lease*> here;
  for (Lease* lease : leases_) {
    if (lease->instance() == &instance) here.push_back(lease);
  }
  return here;
}

/// There is one instance less: room for another one, if it was the number of them that was lacking.
void Pool::place_waiting() {
  is_keeping_up_ = true;
  const bool is_last = std::ranges::none_of(
      slots_, [](const auto& slot) { return slot.second.instance->state() == InstanceState::kFailed; });
  std::vector<Lease*> waiting;
  for (const auto& [lease, reason] : waiting_) waiting.push_back(lease);
  for (Lease* lease : waiting) {
    const auto found = waiting_.find(lease);
    if (found == waiting_.end()) continue;
    const Status reason = std::move(found->second);
    owner_.lease_lost(*this, *lease, reason, is_last);
  }
  is_keeping_up_ = false;
}

// --- how many ---

void Pool::keep_up() {
  if (std::exchange(is_keeping_up_, true)) return;
  stop_idle();
  start_missing();
  is_keeping_up_ = false;
  if (record_.is_deleting && slots_.empty() && leases_.empty()) owner_.pool_empty(*this);
}

void Pool::start_missing() {
  while (living() < wanted() && places_.instance_count() < places_.rules().instances_max) {
    if (with_.now_ns() < not_before_ns_) return keep_up_at(not_before_ns_);
    const InstanceRecord record = draft_instance();
    const Change change = record;
    if (Status status = owner_.write({&change, 1}); !status.ok()) {
      with_.log.error("pool '", name(), "': no instance is started: ", status.text());
      return keep_up_at(with_.now_ns() + with_.settings.first_backoff_ns);
    }
    start_instance(record);
  }
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

void Pool::stop_idle() {
  for (;;) {
    PoolInstance* first = nullptr;
    int64_t first_ns = INT64_MAX;
    const bool is_spare = living() > wanted();
    for (auto& [number, slot] : slots_) {
      if (!may_be_stopped(number, slot, is_spare) || stop_at(number, slot) >= first_ns) continue;
      first = slot.instance.get();
      first_ns = stop_at(number, slot);
    }
    if (first == nullptr) return;
    if (with_.now_ns() < first_ns) return keep_up_at(first_ns);
    places_.set_open(first->number(), false);
    first->stop();
    owner_.instance_changed(*this, *first);
  }
}

void Pool::keep_up_at(int64_t time_ns) {
  if (keep_up_ns_ <= time_ns) return;
  keep_up_ns_ = time_ns;
  with_.executor.post_at(time_ns, make_task(alive_.only_while([this, time_ns] {
                           if (keep_up_ns_ == time_ns) keep_up_ns_ = INT64_MAX;
                           keep_up();
                         })));
}

// --- leases ---

void Pool::put(Lease& lease, uint32_t number, const PlaceNeeds& needs) {
  places_.put(number, needs);
  leases_.insert(&lease);
  lease.record.instance = number;
  lease.record.has_place = true;
}

void Pool::wait(Lease& lease, const Status& reason) {
  lease.record.has_place = false;
  leases_.insert(&lease);
  waiting_.insert_or_assign(&lease, reason.clone());
}

void Pool::take_off(Lease& lease, const PlaceNeeds& needs) {
  leases_.erase(&lease);
  if (waiting_.erase(&lease) != 0) return;
  const uint32_t number = lease.record.instance;
  places_.take_off(number, needs);
  if (const auto slot = slots_.find(number); slot != slots_.end())
    slot->second.idle_since_ns = with_.now_ns();
}

}  // namespace atl::pools
