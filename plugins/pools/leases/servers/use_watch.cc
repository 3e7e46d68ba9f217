#include "pools/leases/servers/use_watch.h"

#include <algorithm>
#include <utility>

#include "pools/leases/book/pool_book.h"

namespace atl::pools {
namespace {

/// Instances compute on one core at least, whatever is reserved for them.
double entitled_threads(const PoolDefinition& pool, uint64_t quota) {
  return static_cast<double>(quota) / static_cast<double>(pool.quota) *
         std::max<uint32_t>(1, pool.instance.cpus);
}

/// "0.25"
std::string two_digits(double value) {
  const auto hundredths = static_cast<uint64_t>(value * 100 + 0.5);
  return cat(hundredths / 100, ".", hundredths / 10 % 10, hundredths % 10);
}

ModelUse sum_of(const Lease& lease, const UseByModel& use) {
  ModelUse sum;
  for (const LeaseModel& model : lease.record.definition.models) {
    const auto found = use.find(model.name);
    if (found == use.end()) continue;
    sum.requests += found->second.requests;
    sum.compute_ns = capped_sum(sum.compute_ns, found->second.compute_ns);
    sum.queue_ns = capped_sum(sum.queue_ns, found->second.queue_ns);
    sum.last_wall_ns = std::max(sum.last_wall_ns, found->second.last_wall_ns);
  }
  return sum;
}

}  // namespace

void UseWatch::look() {
  std::map<const PoolInstance*, std::vector<std::string>> leases;
  std::set<std::string_view> live;
  for (const auto& [name, pool] : book_.pools) {
    for (const Lease* lease : pool->leases()) {
      if (lease->state() != LeaseState::kActive) continue;
      live.insert(lease->id());
      leases[lease->instance()].push_back(lease->id());
    }
  }
  std::erase_if(entries_, [&](const auto& entry) { return !live.contains(entry.first); });
  for (auto& [instance, ids] : leases) {
    if (!asked_.insert(instance->id()).second) continue;
    source_.read_use(instance->address(), alive_.only_while([this, server = instance->id(),
                                                             ids = std::move(ids)](Result<UseByModel> use) {
      answered(server, ids, std::move(use));
    }));
  }
}

/// One that does not answer is the matter of those who look after instances.
void UseWatch::answered(const std::string& server, const std::vector<std::string>& leases,
                        Result<UseByModel> use) {
  asked_.erase(server);
  if (!use.ok()) return;
  for (const std::string& id : leases) {
    const Lease* lease = book_.leases.find(id);
    const bool is_there =
        lease != nullptr && lease->state() == LeaseState::kActive && lease->instance()->id() == server;
    if (is_there) update(*lease, server, sum_of(*lease, use.value()));
  }
}

void UseWatch::update(const Lease& lease, const std::string& server, const ModelUse& sum) {
  const int64_t now_ns = with_.now_ns();
  Entry& entry = entries_[lease.id()];
  if (entry.server != server) {
    entry = {};
    entry.server = server;
    entry.last = sum;
    entry.total = {sum.requests, sum.compute_ns, sum.queue_ns, 0};
    entry.window_since_ns = now_ns;
    // It may have been in use before this process was there to see it.
    if (sum.last_wall_ns > 0)
      entry.last_use_ns = now_ns - std::max<int64_t>(0, with_.clock.wall_ns() - sum.last_wall_ns);
    return;
  }
  // A model that was loaded anew counts from 0.
  const ModelUse before = sum.requests < entry.last.requests ? ModelUse() : std::exchange(entry.last, sum);
  entry.last = sum;
  if (sum.requests != before.requests) entry.last_use_ns = now_ns;
  const int64_t compute_ns = std::max<int64_t>(0, sum.compute_ns - before.compute_ns);
  entry.total.requests += sum.requests - before.requests;
  entry.total.compute_ns = capped_sum(entry.total.compute_ns, compute_ns);
  entry.total.queue_ns =
      capped_sum(entry.total.queue_ns, std::max<int64_t>(0, sum.queue_ns - before.queue_ns));
  entry.compute_in_window_ns = capped_sum(entry.compute_in_window_ns, compute_ns);
  if (now_ns - entry.window_since_ns >= settings_.window_ns) end_window(lease, entry);
}

void UseWatch::end_window(const Lease& lease, Entry& entry) {
  const int64_t now_ns = with_.now_ns(), window_ns = now_ns - std::exchange(entry.window_since_ns, now_ns);
  entry.total.busy =
      static_cast<double>(std::exchange(entry.compute_in_window_ns, 0)) / static_cast<double>(window_ns);
  const LeaseDefinition& definition = lease.record.definition;
  const PoolDefinition& pool = book_.find_pool(definition.pool)->record().definition;
  const double entitled = entitled_threads(pool, definition.quota);
  if (settings_.overuse_factor == 0 || entry.total.busy <= settings_.overuse_factor * entitled) return;
  const std::string reason =
      cat("its models computed ", two_digits(entry.total.busy), " s in each second of the last ",
          window_ns / kNsPerSecond, ", and its quota of ", definition.quota, " of ", pool.quota, " is for ",
          two_digits(entitled));
  events_.happened(event_of(PoolEvent::Kind::kLeaseOveruse, lease, reason));
}

std::optional<int64_t> UseWatch::last_use_ns(std::string_view lease) const {
  const auto found = entries_.find(lease);
  return found == entries_.end() ? std::nullopt : found->second.last_use_ns;
}

const ObservedUse* UseWatch::observed(std::string_view lease) const {
  const auto found = entries_.find(lease);
  return found == entries_.end() ? nullptr : &found->second.total;
}

}  // namespace atl::pools
