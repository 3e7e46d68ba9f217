/// What admission by deadlines is worth, in virtual time. See bench/README.md.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "goodput/decisions.h"
#include "goodput/device_case.h"

namespace atl::goodput {
namespace {

/// So many of all requests are to be in time.
constexpr double kGoal = 0.99;
constexpr uint32_t kModels = 20;
constexpr double kVariation = 3;
constexpr double kSlo = 3;
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

DeviceRules alone(Sharing sharing, double target_scale) {
  DeviceRules rules;
  rules.sharing = sharing;
  rules.slo_scale = kSlo;
  rules.target_scale = target_scale;
  return rules;
}

DeviceRules with_deadlines(Sharing sharing, uint32_t executions) {
  DeviceRules rules;
  rules.sharing = sharing;
  rules.slo_scale = kSlo;
  rules.has_deadlines = true;
  rules.plan.executions = executions;
  return rules;
}

/// By seed, each model by itself: the best of the latency targets.
std::vector<double> baseline(Sharing sharing, const Extent& extent) {
  std::vector<double> best(extent.seeds, 0);
  for (double target : kTargets) {
    std::vector<double> rates;
    for (uint64_t seed = 1; seed <= extent.seeds; ++seed) {
      rates.push_back(rate_of(alone(sharing, target), extent, seed));
      best[seed - 1] = std::max(best[seed - 1], rates.back());
    }
    std::printf("  each model by itself, latency target %.1f of the limit: %.3f requests/s (median)\n",
                target, median(rates));
  }
  return best;
}

void compare(const char* name, Sharing sharing, uint32_t executions, const std::vector<double>& baselines,
             const Extent& extent) {
  std::vector<double> rates, ratios;
  for (uint64_t seed = 1; seed <= extent.seeds; ++seed) {
    rates.push_back(rate_of(with_deadlines(sharing, executions), extent, seed));
    ratios.push_back(rates.back() / baselines[seed - 1]);
  }
  std::printf(
      "%s SLO %g CV %g, executions = %u, %llu seeds: %.3f requests/s instead of %.3f, worst seed %.2f, median %.2fx\n",
      name, kSlo, kVariation, executions, static_cast<unsigned long long>(extent.seeds), median(rates),
      median(baselines), *std::min_element(ratios.begin(), ratios.end()), median(ratios));
  std::fflush(stdout);
}

/// What is in time at given rates, where executions share the device evenly.
void shares(const Extent& extent) {
  for (double rate : {1.0, 3.0, 10.0, 30.0}) {
    std::vector<double> by_themselves, one, two;
    for (uint64_t seed = 1; seed <= extent.seeds; ++seed) {
      const auto models = device_models(kModels, seed);
      const auto arrivals = gamma_arrivals(models, rate, kVariation, extent.seconds, seed);
      double best = 0;
      for (double target : kTargets) {
        best = std::max(best, run_device(models, arrivals, alone(Sharing::kEqual, target)).share());
      }
      by_themselves.push_back(best);
      one.push_back(run_device(models, arrivals, with_deadlines(Sharing::kEqual, 1)).share());
      two.push_back(run_device(models, arrivals, with_deadlines(Sharing::kEqual, 2)).share());
    }
    std::printf(
        "  %4.0f requests/s: %.4f in time by themselves, %.4f with executions = 1, %.4f with executions = 2\n",
        rate, median(by_themselves), median(one), median(two));
  }
}

void explain(const Extent& extent, bool is_quick) {
  std::printf(
      "One device, %u models: a batch of one takes 2 to 50 ms, of n a + 0.3 a n. Gamma arrivals of each model, rates as\n"
      "rank^-0.5, virtual time. Rates at which 99 %% of all requests are in time; refused and late ones are not. Batches up\n"
      "to 64. %g s, or as long as %g requests take. A warm-up, which is not counted, shows both sides what executions take.\n",
      kModels, extent.seconds, extent.requests);
  if (!is_quick) return;
  std::printf(
      "Shortened: %llu seeds instead of 5, %g s instead of 600, %g requests instead of 5000, rates in steps of %.0f %% instead of 5 %%.\n",
      static_cast<unsigned long long>(extent.seeds), extent.seconds, extent.requests,
      (extent.step - 1) * 100);
}

int run(bool is_quick) {
  const Extent extent = is_quick ? Extent{3, 300, 1'000, 1.1} : Extent{};
  explain(extent, is_quick);
  std::printf("Executions at a time share the device evenly:\n");
  shares(extent);
  const std::vector<double> sharing = baseline(Sharing::kEqual, extent);
  compare("device20", Sharing::kEqual, 1, sharing, extent);
  compare("device20", Sharing::kEqual, 2, sharing, extent);
  std::printf("The device takes executions one after the other:\n");
  const std::vector<double> in_turn = baseline(Sharing::kOneByOne, extent);
  compare("device20_in_turn", Sharing::kOneByOne, 1, in_turn, extent);
  measure_decisions();
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
