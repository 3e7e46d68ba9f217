#include "goodput/workload.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace atl::goodput {

std::vector<WorkloadModel> device_models(uint32_t count, uint64_t seed) {
  std::vector<WorkloadModel> models(count);
  std::vector<uint32_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0U);
  std::mt19937_64 random(seed);
  for (size_t i = count; i > 1; --i) std::swap(ranks[i - 1], ranks[random() % i]);
  double sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    models[i].latency_ns = 2e6 * std::pow(25.0, static_cast<double>(i) / std::max(1u, count - 1));
    models[i].share = std::pow(ranks[i] + 1.0, -0.5);
    sum += models[i].share;
  }
  for (WorkloadModel& model : models) model.share /= sum;
  return models;
}

std::vector<Arrival> gamma_arrivals(const std::vector<WorkloadModel>& models, double per_second,
                                    double variation, double seconds, uint64_t seed) {
  std::vector<Arrival> arrivals;
  const double shape = 1 / (variation * variation);
  for (uint32_t model = 0; model < models.size(); ++model) {
    std::seed_seq sequence{seed, uint64_t{model}};
    std::mt19937_64 random(sequence);
    const double mean_ns = 1e9 / (per_second * models[model].share);
    std::gamma_distribution<double> gap(shape, 1.0);
    for (double at_ns = gap(random) * mean_ns / shape; at_ns < seconds * 1e9;
         at_ns += gap(random) * mean_ns / shape) {
      arrivals.push_back({static_cast<int64_t>(at_ns), model});
    }
  }
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.at_ns < b.at_ns; });
  return arrivals;
}

}  // namespace atl::goodput
