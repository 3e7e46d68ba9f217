#include "pools/leases/api/pool_metrics.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace atl::pools {
namespace {

void one(MetricSink& sink, std::span<const MetricLabel> labels, uint64_t value) {
  sink.sample(labels, static_cast<double>(value));
}

void counter(MetricSink& sink, std::string_view name, std::string_view help, uint64_t value) {
  sink.family(name, help, MetricKind::kCounter);
  one(sink, {}, value);
}

std::string_view text_of(Code code) { return code_name(code); }
std::string_view text_of(const std::string& text) { return text; }

/// \param label  whose values the counters are kept by
template <class Counters>
void counters(MetricSink& sink, std::string_view name, std::string_view help, std::string_view label,
              const Counters& values) {
  sink.family(name, help, MetricKind::kCounter);
  for (const auto& [by, value] : values) {
    const MetricLabel labeled{label, text_of(by)};
    one(sink, {&labeled, 1}, value);
  }
}

}  // namespace

void PoolMetrics::happened(const PoolEvent& event) {
  const std::scoped_lock lock(mutex_);
  switch (event.kind) {
    case PoolEvent::Kind::kLeasePending:
      created_ += event.reason.empty() ? 1 : 0;
      return;
    case PoolEvent::Kind::kLeaseRefused:
      ++refused_[event.code];
      return;
    case PoolEvent::Kind::kLeaseFailed:
      ++failed_[event.code];
      return;
    case PoolEvent::Kind::kLeaseActive: {
      const double seconds = static_cast<double>(event.deploy_ns) / static_cast<double>(kNsPerSecond);
      ++deploys_[static_cast<size_t>(std::ranges::lower_bound(kDeploySeconds, seconds) -
                                     kDeploySeconds.begin())];
      deploy_seconds_ += seconds;
      return;
    }
    case PoolEvent::Kind::kLeaseRenewed:
      ++renewed_[std::string(event.reason)];
      return;
    case PoolEvent::Kind::kLeaseReleased:
      ++released_;
      return;
    case PoolEvent::Kind::kLeaseExpired:
      ++expired_;
      return;
    default:
      return;
  }
}

void PoolMetrics::refresh(const PoolBook& book, int64_t wall_ns) {
  std::vector<PoolFigures> pools;
  for (const auto& [name, pool] : book.pools) {
    PoolFigures& figures = pools.emplace_back();
    figures.name = name;
    figures.largest_free = pool->places().largest_free();
    for (const Place& place : pool->places().places()) {
      ++figures.instances[static_cast<size_t>(pool->instance(place.instance).state())];
      figures.capacity += pool->record().definition.quota;
      figures.used += place.used;
    }
  }
  std::vector<LeaseFigures> leases;
  for (const Lease* lease : book.leases.of_pool({})) {
    if (is_final(lease->state())) continue;
    const int64_t left_ns = lease->record.expires_wall_ns - wall_ns;
    leases.push_back({lease->record.definition.pool, lease->id(),
                      static_cast<double>(left_ns) / static_cast<double>(kNsPerSecond)});
  }
  std::ranges::sort(leases, {}, &LeaseFigures::seconds);
  if (leases.size() > kLeasesShown) leases.resize(kLeasesShown);
  const std::scoped_lock lock(mutex_);
  pools_ = std::move(pools);
  leases_ = std::move(leases);
}

void PoolMetrics::collect(MetricSink& sink) const noexcept {
  const std::scoped_lock lock(mutex_);
  const auto gauge = [&](std::string_view name, std::string_view help, uint64_t PoolFigures::*value) {
    sink.family(name, help, MetricKind::kGauge);
    for (const PoolFigures& pool : pools_) {
      const MetricLabel label{"pool", pool.name};
      one(sink, {&label, 1}, pool.*value);
    }
  };
  sink.family("atoll_pool_instances", "Instances of a pool by their state", MetricKind::kGauge);
  for (const PoolFigures& pool : pools_) {
    for (size_t state = 0; state < pool.instances.size(); ++state) {
      const MetricLabel labels[] = {{"pool", pool.name},
                                    {"state", name_of(static_cast<InstanceState>(state))}};
      one(sink, labels, pool.instances[state]);
    }
  }
  gauge("atoll_pool_quota_capacity", "Quota of all instances of a pool", &PoolFigures::capacity);
  gauge("atoll_pool_quota_used", "Quota of all leases of a pool", &PoolFigures::used);
  gauge("atoll_pool_largest_free", "Quota of the largest lease that fits without another instance",
        &PoolFigures::largest_free);
  sink.family("atoll_lease_seconds_to_expiry", "Time until a lease ends, of the 1000 that end first",
              MetricKind::kGauge);
  for (const LeaseFigures& lease : leases_) {
    const MetricLabel labels[] = {{"pool", lease.pool}, {"lease", lease.lease}};
    sink.sample(labels, lease.seconds);
  }
  counter(sink, "atoll_lease_created_total", "Leases that got a place", created_);
  counter(sink, "atoll_lease_released_total", "Leases that were released", released_);
  counter(sink, "atoll_lease_expired_total", "Leases whose time was over", expired_);
  counters(sink, "atoll_lease_refused_total", "Leases that got no place, by the code of the refusal",
           "reason", refused_);
  counters(sink, "atoll_lease_failed_total",
           "Leases that failed after they had a place, by the code of the failure", "reason", failed_);
  sink.family("atoll_lease_deploy_seconds",
              "Time from the place of a lease, or the loss of its instance, until its models serve",
              MetricKind::kHistogram);
  sink.histogram({}, {kDeploySeconds, deploys_, deploy_seconds_});
  counters(sink, "atoll_lease_renewed_total", "Renewals, by a client or since the lease was in use", "by",
           renewed_);
}

}  // namespace atl::pools
