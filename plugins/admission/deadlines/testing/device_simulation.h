/// Schedulers and a device that executions share, around the policy, in virtual time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "admission/deadlines/device.h"
#include "atoll/core/clock.h"
#include "atoll/testing/random.h"

namespace atl::deadlines {

class DeviceSimulation {
 public:
  struct Model {
    int64_t first_ns = 0, item_ns = 0;  ///< a batch of n takes first + n * item
    int64_t target_ns = 0;
    uint32_t size_max = 8;
    uint32_t instances = 1;
  };
  struct Outcome {
    uint64_t offered = 0, refused = 0, executed = 0, dropped = 0, late = 0;
    int64_t worst_late_ns = 0;    ///< of those that were taken
    int64_t longest_wait_ns = 0;  ///< of those without deadline
  };

  DeviceSimulation(PlanRules rules, const std::vector<Model>& models, int64_t patience_ns = kNsPerSecond)
      : rules_(rules), device_(rules) {
    for (const Model& model : models) add(model, patience_ns);
  }

  /// Executions that are seen before the first request, so that the profiles are known.
  void teach() {
    for (auto& one : served_) {
      for (int i = 0; i < 8; ++i) {
        for (uint32_t size = 1; size <= one->model.size_max; ++size) {
          one->line.profile.add(size, cost_ns(one->model, size));
        }
      }
    }
  }
  /// \param deadline_ns  the client's own; 0: none. \returns whether the request was taken
  bool arrive(size_t model, int64_t deadline_ns = 0, uint32_t weight = 1) {
    Served& served = *served_[model];
    const WaitingRequest request{now_ns_, deadline_ns, weight};
    const QueuedRequest waiting = served.line.waiting_of(request);
    ++outcome.offered;
    if (!device_.offer(served.line, waiting, now_ns_).is_taken) {
      ++outcome.refused;
      return false;
    }
    served.queue.push_back({now_ns_, waiting});
    AdmittedList admitted;
    device_.arrived(served.line, waiting, now_ns_, admitted);
    begin(admitted);
    ask_idle(served);
    return true;
  }
  /// Everything until then.
  void run_until(int64_t time_ns) {
    while (true) {
      const int64_t next_ns = next_end_ns();
      if (next_ns > time_ns) break;
      catch_up(next_ns);
      end_done();
    }
    catch_up(time_ns);
  }
  void run_until_idle() {
    while (next_end_ns() != INT64_MAX) run_until(next_end_ns());
  }
  bool is_idle() const {
    return running_.empty() && std::all_of(served_.begin(), served_.end(), [](const auto& one) {
             return one->queue.empty() && one->line.weight == 0;
           });
  }
  int64_t now_ns() const { return now_ns_; }
  uint32_t most_at_a_time() const { return most_at_a_time_; }

  int64_t noise_percent = 0;  ///< that executions take longer or shorter, at most
  Outcome outcome;
  std::vector<uint32_t> order;  ///< models, as they were executed
  std::vector<uint32_t> sizes;  ///< of their batches

 private:
  struct Queued {
    int64_t since_ns;
    QueuedRequest waiting;
  };
  struct Served {
    Served(const Model& its_model, const ExecutionDemand& demand, int64_t patience_ns)
        : model(its_model), line(demand, patience_ns) {}
    const Model model;
    Line line;
    uint32_t number = 0;
    std::vector<std::unique_ptr<Runner>> runners;
    std::deque<Queued> queue;
  };
  struct Run {
    Runner* runner;
    double left_ns;
    std::vector<Queued> batch;
  };

  static int64_t cost_ns(const Model& model, uint32_t size) { return model.first_ns + model.item_ns * size; }
  void add(const Model& model, int64_t patience_ns) {
    ExecutionDemand demand;
    demand.model = "m";
    demand.version = static_cast<int64_t>(served_.size());
    demand.max_batch_size = model.size_max;
    demand.latency_target_ns = model.target_ns;
    served_.push_back(std::make_unique<Served>(model, demand, patience_ns));
    served_.back()->number = static_cast<uint32_t>(served_.size() - 1);
    for (uint32_t i = 0; i < model.instances; ++i) {
      served_.back()->runners.push_back(std::make_unique<Runner>(served_.back()->line));
      device_.add(*served_.back()->runners.back());
    }
  }
  Served& served_of(const Runner& runner) { return *served_[static_cast<size_t>(runner.line->version)]; }

  void ask_idle(Served& served) {
    for (auto& runner : served.runners) {
      if (runner->state != Runner::State::kIdle || served.queue.empty()) continue;
      AdmittedList admitted;
      device_.ask(*runner, false, now_ns_, admitted);
      begin(admitted);
    }
  }
  void begin(AdmittedList& admitted) {
    while (Runner* runner = admitted.pop_front()) begin_one(*runner);
  }
  void begin_one(Runner& runner) {
    Served& served = served_of(runner);
    const ExecutionGrant grant = device_.grant(runner, now_ns_);
    while (!served.queue.empty()) {
      const QueuedRequest& first = served.queue.front().waiting;
      if (!first.is_bound || grant.ends_ns == 0 || grant.ends_ns <= first.deadline_ns) break;
      served.queue.pop_front();
      ++outcome.dropped;
    }
    Run run{&runner, 0, {}};
    uint32_t size = 0;
    while (!served.queue.empty()) {
      const uint32_t weight = served.queue.front().waiting.weight;
      if (size != 0 && (size + weight > grant.batch_size_max || size + weight > served.model.size_max)) break;
      size += weight;
      run.batch.push_back(served.queue.front());
      served.queue.pop_front();
    }
    uint64_t left = 0;
    for (const Queued& queued : served.queue) left += queued.waiting.weight;
    AdmittedList admitted;
    if (size == 0) {
      device_.left(served.line, left);
      device_.end(runner, false, now_ns_, admitted);
      return begin(admitted);
    }
    const double more =
        noise_percent == 0 ? 0 : static_cast<double>(random_.between(-noise_percent, noise_percent));
    run.left_ns = static_cast<double>(cost_ns(served.model, size)) * (1 + more / 100);
    order.push_back(served.number);
    sizes.push_back(size);
    running_.push_back(std::move(run));
    most_at_a_time_ = std::max(most_at_a_time_, static_cast<uint32_t>(running_.size()));
    AdmittedList others;
    device_.begins(runner, size, left, now_ns_, others);
    begin(others);
  }

  int64_t next_end_ns() const {
    if (running_.empty()) return INT64_MAX;
    double left_ns = running_.front().left_ns;
    for (const Run& run : running_) left_ns = std::min(left_ns, run.left_ns);
    return now_ns_ + static_cast<int64_t>(std::ceil(left_ns * rules_.crowd(running_.size())));
  }
  void catch_up(int64_t time_ns) {
    const double each_ns = static_cast<double>(time_ns - now_ns_) / rules_.crowd(running_.size());
    for (Run& run : running_) run.left_ns -= each_ns;
    now_ns_ = std::max(now_ns_, time_ns);
  }
  void end_done() {
    for (size_t i = 0; i < running_.size();) {
      if (running_[i].left_ns > 0.5) {
        ++i;
        continue;
      }
      Run run = std::move(running_[i]);
      running_.erase(running_.begin() + static_cast<ptrdiff_t>(i));
      for (const Queued& queued : run.batch) note(queued);
      Served& served = served_of(*run.runner);
      AdmittedList admitted;
      if (served.queue.empty()) {
        device_.end(*run.runner, true, now_ns_, admitted);
      } else {
        device_.ask_again(*run.runner, false, now_ns_, admitted);
      }
      begin(admitted);
      i = 0;
    }
  }
  void note(const Queued& queued) {
    ++outcome.executed;
    if (!queued.waiting.is_bound) {
      outcome.longest_wait_ns = std::max(outcome.longest_wait_ns, now_ns_ - queued.since_ns);
      return;
    }
    const int64_t late_ns = now_ns_ - queued.waiting.deadline_ns;
    outcome.late += late_ns > 0;
    outcome.worst_late_ns = std::max(outcome.worst_late_ns, late_ns);
  }

  const PlanRules rules_;
  test::Random random_{1};
  Device device_;
  std::vector<std::unique_ptr<Served>> served_;
  std::vector<Run> running_;
  int64_t now_ns_ = kNsPerSecond;
  uint32_t most_at_a_time_ = 0;
};

}  // namespace atl::deadlines
