#include "pools/leases/book/lease_book.h"

#include <algorithm>
#include <utility>

namespace atl::pools {

// --- looking at them ---

const Lease* LeaseBook::find(std::string_view id) const {
  const auto found = entries_.find(std::string(id));
  return found == entries_.end() ? nullptr : found->second.lease.get();
}

const Lease* LeaseBook::find_of(std::string_view owner, std::string_view id) const {
  const Lease* const lease = find(id);
  return lease == nullptr || lease->record.definition.owner != owner ? nullptr : lease;
}

std::string LeaseBook::find_key(const LeaseDefinition& definition) const {
  const auto found = keys_.find({definition.owner, definition.idempotency_key});
  return found == keys_.end() ? std::string() : found->second;
}

std::vector<const Lease*> LeaseBook::of_pool(std::string_view pool) const {
  std::vector<std::pair<uint64_t, const Lease*>> found;
  for (const auto& [id, entry] : entries_) {
    if (pool.empty() || entry.lease->record.definition.pool == pool)
      found.emplace_back(entry.order, entry.lease.get());
  }
  std::ranges::sort(found);
  std::vector<const Lease*> leases;
  for (const auto& [order, lease] : found) leases.push_back(lease);
  return leases;
}

void LeaseBook::stop_watching(std::string_view id, LeaseWatcher& watcher) {
  if (const auto found = entries_.find(std::string(id)); found != entries_.end())
    found->second.watchers.erase(&watcher);
}

// --- coming and going ---

LeaseBook::Entry& LeaseBook::add(LeaseRecord record, int64_t expires_ns) {
  const std::string id = record.id;
  const LeaseDefinition& definition = record.definition;
  if (!definition.idempotency_key.empty()) keys_[{definition.owner, definition.idempotency_key}] = id;
  Entry& entry = entries_[id];
  entry.lease = std::make_unique<Lease>(with_, std::move(record));
  entry.order = created_++;
  entry.expires_ns = expires_ns;
  entry.pending_ns = with_.now_ns();
  ++live_;
  set_timer(entry, expires_ns, &LeaseBook::expire);
  return entry;
}

void LeaseBook::keep_history(Entry& entry, int64_t for_ns) {
  --live_;
  set_timer(entry, after(with_.now_ns(), for_ns), &LeaseBook::drop);
}

void LeaseBook::drop(const std::string& id) {
  std::vector<Change> changes = {DropLease{id}};
  const std::string& owner = entries_.at(id).lease->record.definition.owner;
  for (const std::string& name : names_.of(id)) changes.push_back(DropLeaseName{owner, name});
  // Not recorded as forgotten, it is known again after a restart, for as long.
  if (Status status = store_.write(changes); !status.ok())
    with_.log.error("lease ", id, " is not forgotten: ", status.text());
  forget(id);
}

void LeaseBook::forget(const std::string& id) {
  const auto found = entries_.find(id);
  const LeaseRecord& record = found->second.lease->record;
  if (!is_final(record.state)) --live_;
  (void)with_.executor.cancel(found->second.timer);
  routes_.remove(id);
  names_.forget(record.definition.owner, id);
  keys_.erase({record.definition.owner, record.definition.idempotency_key});
  entries_.erase(found);
}

// --- time ---

void LeaseBook::set_timer(Entry& entry, int64_t time_ns, void (LeaseBook::*then)(const std::string&)) {
  (void)with_.executor.cancel(entry.timer);
  entry.timer = with_.executor.post_at(
      time_ns, make_task(alive_.only_while([this, then, id = entry.lease->id()] { (this->*then)(id); })));
}

Result<int64_t> LeaseBook::renew(Entry& entry, int64_t duration_ns, std::string_view by) {
  const int64_t expires_ns = std::max(entry.expires_ns, after(with_.now_ns(), duration_ns));
  LeaseRecord record = entry.lease->record;
  record.expires_wall_ns = after(with_.clock.wall_ns(), expires_ns - with_.now_ns());
  ATOLL_RETURN_IF_ERROR(store_.write(record));
  entry.lease->record.expires_wall_ns = record.expires_wall_ns;
  entry.expires_ns = expires_ns;
  set_timer(entry, expires_ns, &LeaseBook::expire);
  events_.happened(event_of(PoolEvent::Kind::kLeaseRenewed, *entry.lease, by));
  return record.expires_wall_ns;
}

bool LeaseBook::was_used(const Lease& lease) const {
  const std::optional<int64_t> last_ns = use_ == nullptr ? std::nullopt : use_->last_use_ns(lease.id());
  const int64_t window_ns = lease.record.definition.auto_renew->window_ns;
  return last_ns && with_.now_ns() - *last_ns <= (window_ns == 0 ? lease.record.duration_ns : window_ns);
}

void LeaseBook::expire(const std::string& id) {
  Entry& entry = entries_.at(id);
  Lease& lease = *entry.lease;
  if (lease.is_ending()) return;
  const auto& auto_renew = lease.record.definition.auto_renew;
  if (!auto_renew || !was_used(lease)) return expired_(lease);
  const int64_t by_ns = auto_renew->duration_ns == 0 ? lease.record.duration_ns : auto_renew->duration_ns;
  const Status renewed = renew(entry, by_ns, "use").status().clone();
  if (renewed.ok()) return;
  // What is used goes on without it: a disk that is full ends nobody's work.
  with_.log.error("lease ", id, " is in use, and its renewal cannot be recorded: ", renewed.text());
  set_timer(entry, after(with_.now_ns(), with_.settings.longest_backoff_ns), &LeaseBook::expire);
}

// --- what happens, for others ---

void LeaseBook::route(const Entry& entry) {
  routes_.update(*entry.lease, entry.order, names_.of(entry.lease->id()));
}

void LeaseBook::placed(Entry& entry, std::string_view why) {
  route(entry);
  if (std::exchange(entry.told, LeaseState::kPending) != LeaseState::kPending) publish_state(entry, why);
}

void LeaseBook::publish(Lease& lease) {
  Entry& entry = entries_.at(lease.id());
  route(entry);
  const LeaseState before = std::exchange(entry.told, lease.state());
  // It has lost a model: how long it takes to serve again counts from now.
  if (before == LeaseState::kActive) entry.pending_ns = with_.now_ns();
  if (before != lease.state()) publish_state(entry, "moved");
  const std::set<LeaseWatcher*> watchers = entry.watchers;
  for (LeaseWatcher* watcher : watchers) {
    if (entry.watchers.contains(watcher)) watcher->lease_changed(lease);
  }
}

void LeaseBook::publish_state(Entry& entry, std::string_view why_pending) {
  using Kind = PoolEvent::Kind;
  static const std::map<LeaseState, Kind> kinds = {
      {LeaseState::kPending, Kind::kLeasePending}, {LeaseState::kDeploying, Kind::kLeaseDeploying},
      {LeaseState::kActive, Kind::kLeaseActive},   {LeaseState::kReleased, Kind::kLeaseReleased},
      {LeaseState::kExpired, Kind::kLeaseExpired}, {LeaseState::kFailed, Kind::kLeaseFailed}};
  const Lease& lease = *entry.lease;
  const auto kind = kinds.find(lease.state());
  if (kind == kinds.end()) return;  // it is on its way to its end
  PoolEvent event = event_of(kind->second, lease, lease.record.reason, lease.record.failure);
  if (event.kind == Kind::kLeasePending) {
    entry.pending_ns = with_.now_ns();
    event.reason = why_pending;
  }
  if (event.kind == Kind::kLeaseActive) event.deploy_ns = with_.now_ns() - entry.pending_ns;
  events_.happened(event);
}

}  // namespace atl::pools
