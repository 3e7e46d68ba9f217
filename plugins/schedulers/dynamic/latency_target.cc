#include "schedulers/dynamic/latency_target.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"

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

/// With the margin, as in_time() has it: a lone request is always executed, so there is always more to learn.
bool LatencyTarget::reachable() const noexcept {
  return model_.known() && model_.estimate_ns(1) <= target_ns_;
}

int64_t LatencyTarget::time_limit_ns(const Request& request, int64_t now_ns) const noexcept {
  int64_t left_ns = request.times.queue_start_ns + target_ns_ - now_ns;
  if (request.times.deadline_ns != 0) left_ns = std::min(left_ns, request.times.deadline_ns - now_ns);
  return left_ns;
}

/// Until the batch of a newcomer begins, on average.
double LatencyTarget::wait_ns(const BatchLoad& load) const noexcept {
  uint64_t batches_ahead = load.queued_weight / window_.size_max;
  if (batches_ahead < load.idle_instances) return 0;
  batches_ahead -= load.idle_instances;
  // All instances are busy then. They end evenly spread over the time that an execution takes.
  double rounds = static_cast<double>(batches_ahead / instances_);
  double in_round = static_cast<double>(batches_ahead % instances_ + 1) / (instances_ + 1);
  return (rounds + in_round) * static_cast<double>(model_.estimate_ns(window_.size_max));
}

bool LatencyTarget::admit(const Request& request, const BatchLoad& load) noexcept {
  note_arrival(request, load.now_ns);
  choose_delay();
  if (!reachable() || (load.idle_instances != 0 && load.queued_weight == 0)) return true;
  uint64_t joined_size = std::min<uint64_t>(window_.size_max, load.queued_weight + request.batch_weight());
  uint32_t own_size = std::max(request.batch_weight(), static_cast<uint32_t>(joined_size));
  auto own_ns = static_cast<double>(model_.estimate_ns(own_size));
  if (wait_ns(load) + own_ns <= static_cast<double>(time_limit_ns(request, load.now_ns))) return true;
  report_->shed.fetch_add(1, std::memory_order_relaxed);
  return false;
}

/// The largest batch that takes no longer, as far as it is known.
uint32_t LatencyTarget::largest_within(int64_t limit_ns) const noexcept {
  uint32_t low = 1, high = model_size_max_;
  while (low < high) {  // estimates do not fall with the size
    uint32_t middle = low + (high - low + 1) / 2;
    if (model_.estimate_ns(middle) <= limit_ns) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

uint32_t LatencyTarget::choose_size() noexcept {
  // What is known of some sizes says little of much larger ones.
  uint64_t most = std::min<uint64_t>(model_size_max_, 2 * uint64_t{model_.largest_size()});
  uint64_t only_size = model_.only_size();
  uint32_t attempts = std::exchange(attempts_, 0);
  int64_t half_ns = target_ns_ / 2;
  uint64_t size = most;                   // also if the target says nothing, because it cannot be reached
  if (model_.known() && only_size > 1) {  // others have to be tried to be known
    if (model_.estimate_ns(model_.only_size()) > half_ns) {
      size = only_size / 2;
    } else {
      // A little larger is enough to learn from, unless requests are so heavy that no batch has that size.
      attempts_ = attempts + 1;
      size = only_size + std::max<uint64_t>(1, only_size / 8) * (1 + attempts / (2 * instances_));
    }
  } else if (reachable()) {
    int64_t single_ns = model_.average_ns(1);
    size = largest_within(std::max(half_ns, single_ns + (target_ns_ - single_ns) / 4));
  }
  return static_cast<uint32_t>(std::clamp<uint64_t>(size, 1, std::max<uint64_t>(1, most)));
}

void LatencyTarget::choose_delay() noexcept {
  window_.delay_ns = 0;
  double single_share = items_per_ns_ * static_cast<double>(model_.estimate_ns(1)) / instances_;
  if (single_share > kBusyShare && window_.size_max > 1) {
    double allowed_ns = static_cast<double>(target_ns_ - 2 * model_.estimate_ns(window_.size_max));
    double to_fill_ns = (window_.size_max - 1) / items_per_ns_;
    window_.delay_ns = static_cast<int64_t>(std::max(0.0, std::min(allowed_ns, to_fill_ns)));
  }
  report_->delay_ns.store(window_.delay_ns, std::memory_order_relaxed);
}

bool LatencyTarget::in_time(const Request& request, uint32_t batch_size, int64_t now_ns) noexcept {
  if (!reachable() || model_.estimate_ns(batch_size) <= time_limit_ns(request, now_ns)) return true;
  report_->shed.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool LatencyTarget::ends_in_time(const Request& request, int64_t ends_ns) noexcept {
  if (time_limit_ns(request, ends_ns) >= 0) return true;
  report_->shed.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void LatencyTarget::executed(uint32_t batch_size, int64_t duration_ns) noexcept {
  model_.add(batch_size, duration_ns);
  window_.size_max = choose_size();
  report_->size_max.store(window_.size_max, std::memory_order_relaxed);
  choose_delay();
}

std::string LatencyTarget::refusal() const {
  return cat("the model is overloaded: the request could not be answered in time (latency target ",
             target_ns_ / kNsPerUs, " us)");
}

}  // namespace atl::schedulers
