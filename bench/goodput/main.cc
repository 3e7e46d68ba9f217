/// What admission by deadlines is worth, in virtual time: goodput [--quick] [--explore].
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "goodput/device_case.h"

namespace atl::goodput {
namespace {

constexpr double kShare = 0.99;

/// The highest rate of a grid at which so many are in time.
double rate_at(const DeviceRules& rules, double seconds, uint64_t seed, double step, DeviceOutcome* at = nullptr) {
  const auto models = device_models(20, seed);
  double best = 0;
  int below = 0;
  for (double rate = 0.5; rate < 80 && below < 12; rate *= step) {
    const auto arrivals = gamma_arrivals(models, rate, 3, seconds, seed);
    const DeviceOutcome outcome = run_device(models, arrivals, rules);
    if (outcome.share() >= kShare) {
      best = rate;
      below = 0;
      if (at != nullptr) *at = outcome;
    } else {
      below += outcome.share() < kShare - 0.005;
    }
  }
  return best;
}

void print(const std::string& name, double rate, const DeviceOutcome& outcome) {
  std::printf("%-24s %8.2f r/s: %7.4f in time, late %llu refused %llu of %llu, busy %.2f, batch %.2f\n", name.c_str(), rate,
              outcome.share(), static_cast<unsigned long long>(outcome.late),
              static_cast<unsigned long long>(outcome.refused), static_cast<unsigned long long>(outcome.arrived),
              outcome.busy_share, outcome.batch_size);
}

int explore(int argc, char** argv) {
  const double seconds = argc > 2 ? std::atof(argv[2]) : 60;
  const uint64_t seeds = argc > 3 ? static_cast<uint64_t>(std::atoi(argv[3])) : 1;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    for (Sharing sharing : {Sharing::kEqual, Sharing::kOneByOne}) {
      const std::string prefix = sharing == Sharing::kEqual ? "equal " : "fifo ";
      double base = 0, ours = 0;
      for (double scale : {1.0, 0.75, 0.5}) {
        DeviceRules rules;
        rules.sharing = sharing;
        rules.target_scale = scale;
        DeviceOutcome at;
        const double rate = rate_at(rules, seconds, seed, 1.05, &at);
        base = std::max(base, rate);
        print(prefix + std::to_string(scale), rate, at);
      }
      for (uint32_t executions : {1U, 2U, 3U}) {
        DeviceRules rules;
        rules.sharing = sharing;
        rules.has_deadlines = true;
        rules.plan.executions = executions;
        DeviceOutcome at;
        const double rate = rate_at(rules, seconds, seed, 1.05, &at);
        ours = std::max(ours, rate);
        print(prefix + "deadlines " + std::to_string(executions), rate, at);
      }
      std::printf("seed %d %s ratio %.2f\n", static_cast<int>(seed), prefix.c_str(), ours / base);
    }
  }
  return 0;
}

int shares(int argc, char** argv) {
  const double seconds = argc > 2 ? std::atof(argv[2]) : 60;
  const uint64_t seed = argc > 3 ? static_cast<uint64_t>(std::atoi(argv[3])) : 1;
  for (double rate : {0.1, 0.3, 1.0, 3.0, 10.0, 30.0}) {
    const auto models = device_models(20, seed);
    const auto arrivals = gamma_arrivals(models, rate, 3, seconds, seed);
    for (double scale : {0.5, 0.75, 1.0, 1.5, 2.0}) {
      DeviceRules rules;
      rules.target_scale = scale;
      print("alone " + std::to_string(scale), rate, run_device(models, arrivals, rules));
    }
    for (uint32_t executions : {1U, 2U}) {
      DeviceRules rules;
      rules.has_deadlines = true;
      rules.plan.executions = executions;
      print("deadlines " + std::to_string(executions), rate, run_device(models, arrivals, rules));
    }
  }
  return 0;
}

}  // namespace
}  // namespace atl::goodput

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--explore") == 0) return atl::goodput::explore(argc, argv);
  if (argc > 1 && std::strcmp(argv[1], "--shares") == 0) return atl::goodput::shares(argc, argv);
  return 0;
}
