#include "summary.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"

namespace atl::replay {
namespace {

struct Percentile {
  const char* name;
  double share;
};
constexpr Percentile kPercentiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}};

/// In microseconds: the smallest latency that at least this share of the answers does not exceed.
double percentile_us(const std::vector<int64_t>& sorted, double share) {
  const auto count = static_cast<double>(sorted.size());
  const auto rank = static_cast<size_t>(std::max(1.0, share * count + 0.999999));
  return static_cast<double>(sorted[std::min(rank, sorted.size()) - 1]) / static_cast<double>(kNsPerUs);
}

std::vector<int64_t> sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

void print_json(std::ostream& out, const Summary& summary) {
  nlohmann::ordered_json all = {
      {"requests", summary.requests}, {"failures", summary.failures}, {"differences", summary.differences}};
  auto& models = all["models"] = nlohmann::ordered_json::object();
  for (const auto& [model, latencies] : summary.latencies_ns) {
    auto& shown = models[model] = nlohmann::ordered_json::object();
    const std::vector<int64_t> in_order = sorted(latencies);
    if (in_order.empty()) continue;  // no answer, no latency
    for (const Percentile& one : kPercentiles)
      shown[cat("latency_", one.name, "_us")] = percentile_us(in_order, one.share);
  }
  out << all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

void print_text(std::ostream& out, const Summary& summary, bool compares) {
  out << summary.requests << " requests, " << summary.failures << " failures";
  if (compares)
    out << ", " << summary.differences << " differences in " << summary.compared << " that were compared";
  out << '\n';
  size_t width = 5;
  for (const auto& [model, latencies] : summary.latencies_ns) width = std::max(width, model.size());
  if (!summary.latencies_ns.empty()) {
    out << "MODEL" << std::string(width - 5, ' ');
    for (const Percentile& one : kPercentiles) {
      char text[32];
      std::snprintf(text, sizeof text, "  %9s", cat(one.name, " us").c_str());
      out << text;
    }
    out << '\n';
  }
  for (const auto& [model, latencies] : summary.latencies_ns) {
    out << model << std::string(width - model.size(), ' ');
    const std::vector<int64_t> in_order = sorted(latencies);
    for (const Percentile& one : kPercentiles) {
      if (in_order.empty()) break;  // no answer, no latency
      char text[32];
      std::snprintf(text, sizeof text, "  %9.0f", percentile_us(in_order, one.share));
      out << text;
    }
    out << '\n';
  }
}

}  // namespace atl::replay
