/// What admission by deadlines is worth, in virtual time. See bench/README.md.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "goodput/device_case.h"

namespace atl::goodput {
namespace {

/// So many of all requests are to be in time.
constexpr double kGoal = 0.99;
constexpr uint32_t kModels = 20;
constexpr double kVariation = 3;
/// Latency targets of models by themselves, as parts of what is in time. Those below 1 are worse.
constexpr double kTargets[] = {1.0, 1.5, 2.0};

struct Extent {
  uint64_t seeds = 5;
  double seconds = 600;
  double requests = 5'000;  ///< at least: where they take longer, it is longer
  double step = 1.05;       ///< from rate to rate of the grid
};

/// The highest rate of a grid at which so many are in time. It ends where that has not been so for long.
double rate_of(const DeviceRules& rules, const Extent& extent, uint64_t seed) {
  constexpr int kLong = 20;
  const auto models = device_models(kModels, seed);
  double best = 0;
  int below = 0;
  for (double rate = 0.02; below < kLong; rate *= extent.step) {
    const double seconds = std::max(extent.seconds, extent.requests / rate);
    const auto arrivals = gamma_arrivals(models, rate, kVariation, seconds, seed);
    const bool is_good = run_device(models, arrivals, rules).share() >= kGoal;
    if (is_good) best = rate;
    below = is_good ? 0 : below + 1;
  }
  return best;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

DeviceRules alone(double target_scale, double slo_scale) {
  DeviceRules rules;
  rules.slo_scale = slo_scale;
  rules.target_scale = target_scale;
  return rules;
}

DeviceRules with_deadlines(uint32_t executions, double slo_scale) {
  DeviceRules rules;
  rules.slo_scale = slo_scale;
  rules.has_deadlines = true;
  rules.plan.executions = executions;
  return rules;
}

void rates(const char* name, Sharing sharing, double slo_scale, const Extent& extent) {
  std::vector<double> ratios, baselines, ours;
  std::vector<std::vector<double>> by_target(std::size(kTargets));
  for (uint64_t seed = 1; seed <= extent.seeds; ++seed) {
    double best = 0;
    for (size_t i = 0; i < std::size(kTargets); ++i) {
      DeviceRules rules = alone(kTargets[i], slo_scale);
      rules.sharing = sharing;
      by_target[i].push_back(rate_of(rules, extent, seed));
      best = std::max(best, by_target[i].back());
    }
    DeviceRules rules = with_deadlines(sharing == Sharing::kEqual ? 2 : 1, slo_scale);
    rules.sharing = sharing;
    ours.push_back(rate_of(rules, extent, seed));
    baselines.push_back(best);
    ratios.push_back(ours.back() / best);
  }
  for (size_t i = 0; i < std::size(kTargets); ++i) {
    std::printf(
        "  each model by itself, latency target %.1f of the limit: %.3f requests/s at 99 %% (median)\n",
        kTargets[i], median(by_target[i]));
  }
  std::printf(
      "%s SLO %g CV %g, %llu seeds of %g s: %.3f requests/s instead of %.3f at 99 %%, worst seed %.2f, median %.2fx\n",
      name, slo_scale, kVariation, static_cast<unsigned long long>(extent.seeds), extent.seconds,
      median(ours), median(baselines), *std::min_element(ratios.begin(), ratios.end()), median(ratios));
}

/// What is in time at given rates.
void shares(const Extent& extent) {
  for (double rate : {1.0, 3.0, 10.0, 30.0}) {
    std::vector<double> good[3];
    for (uint64_t seed = 1; seed <= extent.seeds; ++seed) {
      const auto models = device_models(kModels, seed);
      const auto arrivals = gamma_arrivals(models, rate, kVariation, extent.seconds, seed);
      double best = 0;
      for (double target : kTargets)
        best = std::max(best, run_device(models, arrivals, alone(target, 3)).share());
      good[0].push_back(best);
      good[1].push_back(run_device(models, arrivals, with_deadlines(1, 3)).share());
      good[2].push_back(run_device(models, arrivals, with_deadlines(2, 3)).share());
    }
    std::printf(
        "  at %g requests/s in time: %.4f by themselves, %.4f with deadlines, %.4f with two executions at a time\n",
        rate, median(good[0]), median(good[1]), median(good[2]));
  }
}

void explain(const Extent& extent, bool is_quick) {
  std::printf(
      "One device, %u models (a batch of one takes 2 to 50 ms, of n a + 0.3 a n), rates as rank^-0.5, Gamma "
      "arrivals of each model, virtual time.\n"
      "Refused, failed and late requests are all missed. Batches up to 64; both sides know their models "
      "from a warm-up that is not counted.\n",
      kModels);
  if (is_quick) {
    std::printf(
        "Shortened: %llu seeds instead of 5, %g s instead of 600, steps of %.0f %% instead of 5 %%.\n",
        static_cast<unsigned long long>(extent.seeds), extent.seconds, (extent.step - 1) * 100);
  }
}

int run(bool is_quick) {
  const Extent extent = is_quick ? Extent{3, 300, 1'000, 1.1} : Extent{};
  explain(extent, is_quick);
  shares(extent);
  std::printf("Executions at a time share the device evenly:\n");
  rates("device20", Sharing::kEqual, 3, extent);
  std::printf("The device takes executions one after the other:\n");
  rates("device20_in_turn", Sharing::kOneByOne, 3, extent);
  return 0;
}

}  // namespace
}  // namespace atl::goodput

int main(int argc, char** argv) {
  const bool is_quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 1 && !is_quick) {
    std::fputs("usage: goodput [--quick]\n", stderr);
    return 2;
  }
  return atl::goodput::run(is_quick);
}
