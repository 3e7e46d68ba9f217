#include "frontends/console/history/history_sampler.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "frontends/console/process_facts.h"

namespace atl::frontends::console {
namespace {

uint32_t as_32(uint64_t value) noexcept {
  return static_cast<uint32_t>(std::min<uint64_t>(value, std::numeric_limits<uint32_t>::max()));
}

/// Requests of each series in the points that are kept.
std::vector<uint64_t> totals_of(const HistoryView& view) {
  std::vector<uint64_t> totals(view.series.size());
  for (const auto& point : view.points) {
    for (uint32_t i = 0; i < point->row_count; ++i) {
      const HistoryRow& row = point->rows[i];
      if (row.series < totals.size() && view.series[row.series] != nullptr &&
          point->number >= view.series[row.series]->since)
        totals[row.series] += row.success + row.fail;
    }
  }
  return totals;
}

/// The duration below which the fraction `q` lies, within the bucket in which it lies.
uint64_t quantile(const LatencyHistogram& histogram, double q) noexcept {
  const double rank = q * static_cast<double>(histogram.count);
  double passed = 0;
  for (uint32_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    const auto here = static_cast<double>(histogram.counts[i]);
    if (here == 0 || passed + here < rank) {
      passed += here;
      continue;
    }
    const uint64_t low = i == 0 ? 0 : LatencyHistogram::upper_bound_ns(i - 1);
    if (i + 1 == LatencyHistogram::kBuckets) return low;  // it has no upper bound
    const auto width = static_cast<double>(LatencyHistogram::upper_bound_ns(i) - low);
    return low + static_cast<uint64_t>(width * (rank - passed) / here);
  }
  return 0;
}

}  // namespace

int64_t HistorySampler::look() {
  Sums now;
  now.taken_ns = clock_.now_ns();
  now.used.reserve(last_.used.size());
  catalog_.visit_statistics([&](const ModelStatistics& one) {
    if (one.success.count == 0 && one.fail.count == 0) return;
    now.total.merge(one.latencies.total);
    Used& used = now.used.emplace_back();
    used.name = one.name;
    used.version = one.version;
    used.load_ns = one.load_duration_ns;
    used.success = one.success.count;
    used.success_ns = one.success.ns;
    used.fail = one.fail.count;
  });
  now.cpu_seconds = cpu_seconds();
  const int64_t took_ns = clock_.now_ns() - now.taken_ns;
  count(last_, now);
  if (!std::exchange(is_first_, false)) {
    HistoryPoint point;
    point.time_ms = clock_.wall_ns() / kNsPerMs;
    const int64_t covered_ns = std::max<int64_t>(1, now.taken_ns - last_.taken_ns);
    point.covers_ms = std::max<int64_t>(1, covered_ns / kNsPerMs);
    for (const Used& one : now.used) {
      point.success += one.came;
      point.fail += one.failed;
    }
    add_quantiles(last_, now, point);
    const RequestsNow requests = catalog_.requests_now();
    point.waiting = requests.waiting;
    point.running = requests.running;
    point.processors = (now.cpu_seconds - last_.cpu_seconds) * static_cast<double>(kNsPerSecond) /
                       static_cast<double>(covered_ns);
    point.resident_bytes = resident_bytes();
    add_rows(now.used, point);
    ring_.add(point);
  }
  last_ = std::move(now);
  return took_ns;
}

void HistorySampler::count(const Sums& before, Sums& now) {
  auto old = before.used.begin();
  for (Used& one : now.used) {
    const auto place = std::tie(one.name, one.version);
    while (old != before.used.end() && std::tie(old->name, old->version) < place) ++old;
    const bool is_known = old != before.used.end() && std::tie(old->name, old->version) == place &&
                          old->success <= one.success && old->fail <= one.fail && old->load_ns == one.load_ns;
    // A version that was loaded meanwhile has counted since then.
    one.came = one.success - (is_known ? old->success : 0);
    one.came_ns = one.success_ns - (is_known ? std::min(old->success_ns, one.success_ns) : 0);
    one.failed = one.fail - (is_known ? old->fail : 0);
  }
}

void HistorySampler::add_quantiles(const Sums& before, const Sums& now, HistoryPoint& point) {
  LatencyHistogram came;
  for (uint32_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    // A version that is unloaded takes its counts with it.
    came.counts[i] = now.total.counts[i] - std::min(now.total.counts[i], before.total.counts[i]);
    came.count += came.counts[i];
  }
  if (came.count == 0) return;
  point.p50_ns = quantile(came, 0.5);
  point.p99_ns = quantile(came, 0.99);
}

std::vector<const HistorySampler::Used*> HistorySampler::busiest_of(const std::vector<Used>& used) {
  std::vector<const Used*> busiest;
  for (const Used& one : used) {
    // A name that does not fit could be taken for another one's.
    if (one.came + one.failed != 0 && decltype(HistorySeries::model)(one.name).view() == one.name)
      busiest.push_back(&one);
  }
  std::stable_sort(busiest.begin(), busiest.end(),
                   [](const Used* a, const Used* b) { return a->came + a->failed > b->came + b->failed; });
  if (busiest.size() > HistoryPoint::kMostRows) busiest.resize(HistoryPoint::kMostRows);
  return busiest;
}

void HistorySampler::add_rows(const std::vector<Used>& used, HistoryPoint& point) {
  const HistoryView view = ring_.view();
  const std::vector<uint64_t> totals = totals_of(view);
  std::vector<const Used*> places(view.series.size());
  std::vector<const Used*> newcomers;
  for (const Used* one : busiest_of(used)) {
    if (const HistorySeries* const series = view.find(one->name, one->version); series != nullptr) {
      places[series->index] = one;
    } else {
      newcomers.push_back(one);
    }
  }
  // A newcomer takes the place of the model that had the fewest requests in all points, and fewer than it has now.
  std::vector<uint32_t> quiet;
  for (uint32_t i = 0; i < places.size(); ++i) {
    if (places[i] == nullptr) quiet.push_back(i);
  }
  std::stable_sort(quiet.begin(), quiet.end(), [&](uint32_t a, uint32_t b) { return totals[a] < totals[b]; });
  for (size_t i = 0; i < newcomers.size() && i < quiet.size(); ++i) {
    const Used& one = *newcomers[i];
    if (totals[quiet[i]] >= one.came + one.failed) break;
    places[quiet[i]] = &one;
    HistorySeries series;
    series.index = quiet[i];
    series.since = ring_.next_number();
    series.version = one.version;
    series.model = one.name;
    ring_.add(series);
  }
  for (uint32_t i = 0; i < places.size(); ++i) {
    if (places[i] == nullptr) continue;
    const Used& one = *places[i];
    point.rows[point.row_count++] = {i, as_32(one.came), as_32(one.failed),
                                     one.came == 0 ? 0 : as_32(one.came_ns / one.came / kNsPerUs)};
  }
}

}  // namespace atl::frontends::console
