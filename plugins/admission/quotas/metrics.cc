#include "admission/quotas/metrics.h"

#include <functional>

#include "atoll/core/clock.h"

namespace atl::quotas {
namespace {

using Value = double (*)(const TenantCounts&);

void write_family(const std::deque<TenantCounts>& all, std::string_view name, std::string_view help,
                  MetricKind kind, Value value, MetricSink& sink) noexcept {
  sink.family(name, help, kind);
  for (const TenantCounts& one : all) {
    const MetricLabel tenant{"tenant", one.label};
    sink.sample({&tenant, 1}, value(one));
  }
}

void write_limits(const std::deque<TenantCounts>& counts, MetricSink& sink) noexcept {
  write_family(
      counts, "atoll_admission_weight", "Share of the server's slots that a tenant has beside others.",
      MetricKind::kGauge, [](const TenantCounts& one) { return static_cast<double>(one.quota.weight); },
      sink);
  write_family(
      counts, "atoll_admission_concurrency_limit",
      "Most requests of a tenant that run at a time; 0: no limit.", MetricKind::kGauge,
      [](const TenantCounts& one) { return static_cast<double>(one.quota.concurrency); }, sink);
  write_family(
      counts, "atoll_admission_rate_limit", "Most requests of a tenant in a second; 0: no limit.",
      MetricKind::kGauge, [](const TenantCounts& one) { return one.quota.rate; }, sink);
  write_family(
      counts, "atoll_admission_token_limit", "Most tokens of a tenant in a second; 0: no limit.",
      MetricKind::kGauge, [](const TenantCounts& one) { return one.quota.tokens; }, sink);
  write_family(
      counts, "atoll_admission_queue_limit", "Most requests of a tenant that wait for their turn.",
      MetricKind::kGauge, [](const TenantCounts& one) { return static_cast<double>(one.quota.queue); }, sink);
}

void write_tokens(const std::deque<TenantCounts>& counts, MetricSink& sink) noexcept {
  sink.family("atoll_admission_tokens_total", "Tokens of language models that responses have taken.",
              MetricKind::kCounter);
  for (const TenantCounts& one : counts) {
    const MetricLabel prompt[] = {{"tenant", one.label}, {"kind", "prompt"}};
    sink.sample(prompt, static_cast<double>(one.tokens.prompt));
    const MetricLabel generated[] = {{"tenant", one.label}, {"kind", "generated"}};
    sink.sample(generated, static_cast<double>(one.tokens.generated));
  }
}

}  // namespace

void write_metrics(const std::deque<TenantCounts>& counts, bool overloaded, MetricSink& sink) noexcept {
  write_family(
      counts, "atoll_admission_requests_total", "Requests that were admitted.", MetricKind::kCounter,
      [](const TenantCounts& one) { return static_cast<double>(one.admitted); }, sink);
  write_family(
      counts, "atoll_admission_waited_total", "Requests that had to wait for their turn.",
      MetricKind::kCounter, [](const TenantCounts& one) { return static_cast<double>(one.waited); }, sink);
  write_family(
      counts, "atoll_admission_wait_seconds_total", "Time that requests waited for their turn.",
      MetricKind::kCounter,
      [](const TenantCounts& one) {
        return static_cast<double>(one.wait_ns) / static_cast<double>(kNsPerSecond);
      },
      sink);
  write_family(
      counts, "atoll_admission_running", "Requests that are admitted and have not ended.", MetricKind::kGauge,
      [](const TenantCounts& one) { return static_cast<double>(one.running); }, sink);
  write_family(
      counts, "atoll_admission_waiting", "Requests that wait for their turn.", MetricKind::kGauge,
      [](const TenantCounts& one) { return static_cast<double>(one.waiting); }, sink);
  write_limits(counts, sink);
  write_tokens(counts, sink);
  sink.family("atoll_admission_refused_total", "Requests that were not admitted.", MetricKind::kCounter);
  for (const TenantCounts& one : counts) {
    for (size_t reason = 0; reason < kReasons; ++reason) {
      const MetricLabel labels[] = {{"tenant", one.label}, {"reason", kReasonNames[reason]}};
      sink.sample(labels, static_cast<double>(one.refused[reason]));
    }
  }
  sink.family("atoll_admission_overloaded", "1 while requests are shed because the queue is too slow.",
              MetricKind::kGauge);
  sink.sample({}, overloaded ? 1 : 0);
}

}  // namespace atl::quotas
