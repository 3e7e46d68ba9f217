/// A model under a latency target, without threads: instances of a known cost, and requests that come at
/// random.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/testing/random.h"
#include "schedulers/common/batch/batch_former.h"
#include "schedulers/common/batch/policy_queue.h"
#include "schedulers/dynamic/latency_target.h"

namespace atl::schedulers {

/// Asks the target what a scheduler asks it, at the moments when it does.
class TargetSimulation {
 public:
  struct Setup {
    std::function<double(double)> cost_ms;  ///< of a batch, by its size
    double target_ms = 20;
    uint32_t size_max = 64;
    uint32_t instances = 1;
    uint32_t weight = 1;  ///< of every request
    double noise = 0.05;  ///< executions take up to this share longer or shorter
    uint64_t seed = 1;
  };
  struct Outcome {
    uint64_t arrived = 0, served = 0, in_time = 0, shed = 0;
    int64_t duration_ns = 0;
    double sum_latency_ms = 0;
    uint32_t size_low = UINT32_MAX, size_high = 0;  ///< of the window, as executions change it

    double shed_share() const { return share(shed, arrived); }
    double late_share() const { return share(served - in_time, served); }
    double mean_latency_ms() const {
      return sum_latency_ms / static_cast<double>(std::max<uint64_t>(1, served));
    }
    /// Requests answered in time.
    double per_ms() const { return static_cast<double>(in_time) / (static_cast<double>(duration_ns) / 1e6); }

   private:
    static double share(uint64_t part, uint64_t whole) {
      return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
    }
  };

  explicit TargetSimulation(Setup setup)
      : setup_(std::move(setup)),
        random_(setup_.seed),
        report_(std::make_shared<LatencyTargetReport>()),
        busy_until_ns_(setup_.instances, kIdle),
        started_ns_(setup_.instances, 0),
        running_(setup_.instances) {
    report_->target_ns = ns(setup_.target_ms);
    target_ = std::make_unique<LatencyTarget>(report_, setup_.size_max, setup_.instances);
    former_ = std::make_unique<BatchFormer>(queue_, BatchRules{}, compatibility_, nullptr);
  }

  /// Requests come at random for so long, so many a millisecond on average.
  Outcome run(double duration_ms, double per_ms) {
    outcome_ = {};
    int64_t end_ns = now_ns_ + ns(duration_ms);
    outcome_.duration_ns = ns(duration_ms);
    int64_t arrival_ns = next_arrival_ns(per_ms);
    while (true) {
      int64_t next_ns = std::min({arrival_ns, look_ns_, first_end_ns()});
      if (next_ns > end_ns) break;
      now_ns_ = std::max(now_ns_, next_ns);
      if (next_ns == arrival_ns) {
        arrive();
        arrival_ns = next_arrival_ns(per_ms);
      } else if (next_ns == look_ns_) {
        look_ns_ = DeadlineHeap::kNever;
        fill_idle();
      } else {
        end_first();
      }
    }
    now_ns_ = end_ns;
    return outcome_;
  }
  void set_cost(std::function<double(double)> cost_ms) { setup_.cost_ms = std::move(cost_ms); }
  const LatencyTargetReport& report() const { return *report_; }

 private:
  static constexpr int64_t kIdle = DeadlineHeap::kNever;
  static int64_t ns(double ms) { return static_cast<int64_t>(ms * 1e6); }
  double uniform() { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }

  int64_t next_arrival_ns(double per_ms) {
    return per_ms == 0 ? DeadlineHeap::kNever : now_ns_ + ns(-std::log(1 - uniform()) / per_ms);
  }
  int64_t first_end_ns() const { return *std::min_element(busy_until_ns_.begin(), busy_until_ns_.end()); }
  uint32_t idle() const {
    return static_cast<uint32_t>(std::count(busy_until_ns_.begin(), busy_until_ns_.end(), kIdle));
  }
  void arrive() {
    ++outcome_.arrived;
    if (free_.empty()) {
      requests_.push_back(std::make_unique<Request>());
      free_.push_back(requests_.back().get());
    }
    Request& request = *free_.back();
    request.batch_size = setup_.weight;
    request.times.queue_start_ns = now_ns_;
    if (!target_->admit(request, {now_ns_, queue_.total_weight(), idle()})) {
      ++outcome_.shed;
      return;
    }
    free_.pop_back();
    queue_.push(request, now_ns_);
    former_->arrived(request);
    fill_idle();
  }
  void fill_idle() {
    for (size_t i = 0; i < busy_until_ns_.size() && !queue_.empty(); ++i) {
      if (busy_until_ns_[i] == kIdle && !fill(i)) return;
    }
  }
  bool drop_late(uint32_t batch_size) {
    bool dropped = false;
    for (Request* first = queue_.front(); first != nullptr && !target_->in_time(*first, batch_size, now_ns_);
         first = queue_.front()) {
      queue_.remove(*first);
      ++outcome_.shed;
      free_.push_back(first);
      dropped = true;
    }
    return dropped;
  }
  bool fill(size_t instance) {
    BatchTuner::Window window = target_->window();
    former_->set_window(window.size_max, window.delay_ns);
    std::vector<Request*>& batch = running_[instance];
    for (bool late = true; late;) {
      BatchDecision decision = former_->decide(now_ns_);
      if (decision.count == 0) {
        look_ns_ = std::min(look_ns_, decision.recheck_ns);
        return false;
      }
      former_->forget();
      late = drop_late(decision.size);
      for (uint32_t i = 0; !late && i < decision.count; ++i) {
        batch.push_back(queue_.front());
        queue_.remove(*batch.back());
      }
    }
    double factor = 1 + setup_.noise * (2 * uniform() - 1);
    started_ns_[instance] = now_ns_;
    busy_until_ns_[instance] =
        now_ns_ +
        std::max<int64_t>(1, ns(setup_.cost_ms(static_cast<double>(batch.size() * setup_.weight)) * factor));
    return true;
  }
  void end_first() {
    auto first = static_cast<size_t>(std::min_element(busy_until_ns_.begin(), busy_until_ns_.end()) -
                                     busy_until_ns_.begin());
    for (Request* request : running_[first]) {
      int64_t latency_ns = now_ns_ - request->times.queue_start_ns;
      ++outcome_.served;
      outcome_.in_time += latency_ns <= report_->target_ns;
      outcome_.sum_latency_ms += static_cast<double>(latency_ns) / 1e6;
      free_.push_back(request);
    }
    target_->executed(static_cast<uint32_t>(running_[first].size()) * setup_.weight,
                      now_ns_ - started_ns_[first]);
    outcome_.size_low = std::min(outcome_.size_low, target_->window().size_max);
    outcome_.size_high = std::max(outcome_.size_high, target_->window().size_max);
    running_[first].clear();
    busy_until_ns_[first] = kIdle;
    fill_idle();
  }

  Setup setup_;
  test::Random random_;
  std::shared_ptr<LatencyTargetReport> report_;
  std::unique_ptr<LatencyTarget> target_;
  PolicyQueue queue_{QueuePolicies{}};
  BatchCompatibility compatibility_;
  std::unique_ptr<BatchFormer> former_;
  std::vector<std::unique_ptr<Request>> requests_;
  std::vector<Request*> free_;
  std::vector<int64_t> busy_until_ns_, started_ns_;
  std::vector<std::vector<Request*>> running_;
  int64_t now_ns_ = kNsPerSecond;
  int64_t look_ns_ = DeadlineHeap::kNever;
  Outcome outcome_;
};

}  // namespace atl::schedulers
