#include "latency_target.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "atoll/clock.h"
#include "atoll/text.h"

namespace atl::schedulers {
namespace {

/// Share of the instances' time above which requests are not served one by one.
constexpr double kBusyShare = 0.5;
/// Time over which the rate of arrivals is averaged.
constexpr double kRateWindowNs = 100e6;

}  // namespace

LatencyTarget::LatencyTarget(std::shared_ptr<LatencyTargetReport> report, uint32_t size_max,
                             uint32_t instances) noexcept
    : report_(std::move(report)),
      target_ns_(report_->target_ns),
      model_size_max_(std::max(1u, size_max)),
      instances_(std::max(1u, instances)) {
  window_.size_max = model_size_max_;
  report_->size_max = window_.size_max;
}

void LatencyTarget::note_arrival(const Request& request, int64_t now_ns) noexcept {
  double gap_ns = static_cast<double>(std::max<int64_t>(now_ns - last_arrival_ns_, 1));
  last_arrival_ns_ = now_ns;
  double keep = std::exp(-gap_ns / kRateWindowNs);
  items_per_ns_ = items_per_ns_ * keep + request.batch_weight() * (1 - keep) / gap_ns;
}

bool LatencyTarget::reachable() const noexcept {
  return model_.known() && model_.estimate_ns(1) <= target_ns_;
}

int64_t LatencyTarget::time_limit_ns(const Request& request, int64_t now_ns) const noexcept {
  int64_t left_ns = request.times.queue_start_ns + target_ns_ - now_ns;
  if (request.times.deadline_ns != 0) left_ns = std::min(left_ns, request.times.deadline_ns - now_ns);
  return left_ns;
}

bool LatencyTarget::admit(const Request& request, const BatchLoad& load) noexcept {
  note_arrival(request, load.now_ns);
  if (!reachable() || (load.idle_instances != 0 && load.queued_weight == 0)) return true;
  auto execution_ns = static_cast<double>(model_.estimate_ns(window_.size_max));
  double batches_ahead = static_cast<double>(load.queued_weight) / window_.size_max / instances_;
  double rest_ns = load.idle_instances != 0 ? 0 : execution_ns / 2;  // of those that run, on average
  double total_ns = rest_ns + std::floor(batches_ahead) * execution_ns + execution_ns;
  if (total_ns <= static_cast<double>(time_limit_ns(request, load.now_ns))) return true;
  report_->shed.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void LatencyTarget::choose() noexcept {
  uint32_t low = 1, high = model_size_max_;
  while (low < high) {  // estimates do not fall with the size
    uint32_t middle = low + (high - low + 1) / 2;
    if (model_.estimate_ns(middle) <= target_ns_ / 2) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  window_.size_max = low;
  window_.delay_ns = 0;
  double single_share = items_per_ns_ * static_cast<double>(model_.estimate_ns(1)) / instances_;
  if (single_share > kBusyShare && low > 1) {
    double allowed_ns = static_cast<double>(target_ns_ - 2 * model_.estimate_ns(low));
    double to_fill_ns = (low - 1) / items_per_ns_;
    window_.delay_ns = static_cast<int64_t>(std::max(0.0, std::min(allowed_ns, to_fill_ns)));
  }
  report_->size_max.store(window_.size_max, std::memory_order_relaxed);
  report_->delay_ns.store(window_.delay_ns, std::memory_order_relaxed);
}

bool LatencyTarget::in_time(const Request& request, uint32_t batch_size, int64_t now_ns) noexcept {
  if (!reachable() || model_.estimate_ns(batch_size) <= time_limit_ns(request, now_ns)) return true;
  report_->shed.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void LatencyTarget::executed(uint32_t batch_size, int64_t duration_ns) noexcept {
  model_.add(batch_size, duration_ns);
  if (model_.known()) choose();
}

std::string LatencyTarget::refusal() const {
  return cat("the model is overloaded: the request could not be answered in time (latency target ",
             target_ns_ / kNsPerUs, " us)");
}

}  // namespace atl::schedulers
