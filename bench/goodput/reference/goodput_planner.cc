/// The planner of replicas on the reference cases: requests in time beside the plans of AlpaServe's simulator.
///
///     goodput_planner EXPECTED.json ARRIVALS [--interval SECONDS] [CASE...]
///
/// The pool executes by earliest deadline first and refuses at arrival what would be late. It plans anew each interval (2 s
/// if not said otherwise) from what has arrived, with no knowledge of what comes; replicas are loaded at once, as in the
/// reference, but work that was taken stays on its device. "fresh" begins with replicas in turns and without a past;
/// "with a past" has seen the arrivals of another seed, from which sr-greedy-other has its plan. Prints a line for each
/// case with the rules "plain"; the last number is the goodput with a past through that of sr-greedy-other.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/text.h"
#include "goodput/reference/reference_cases.h"
#include "pools/leases/planner/replica_planner.h"

namespace atl::goodput {
namespace {

using Arrivals = std::vector<pools::PoolArrival>;

constexpr int64_t kUsPerS = 1'000'000;

struct PlannerArguments {
  std::string expected, folder;
  int64_t interval_us = 2 * kUsPerS;
  std::vector<std::string> names;
};

/// One case, with what was counted by policy.
struct PlannerCase {
  ReferenceLine line;
  std::map<std::string, size_t> good;
};

/// Devices, and the replicas of each: models have one unit of quota.
pools::PlannerSettings settings_of(const ReferenceLine& line) {
  const auto& devices = line.segments.at(0).plan.devices;
  pools::PlannerSettings settings;
  settings.devices = static_cast<uint32_t>(devices.size());
  for (const auto& device : devices) settings.capacity = std::max<uint64_t>(settings.capacity, device.size());
  return settings;
}

/// \returns requests in time
size_t simulate(const ReferenceLine& line, const Arrivals& arrivals, const Arrivals& past,
                int64_t interval_us) {
  const pools::PlannerSettings settings = settings_of(line);
  pools::ReplicaPlanner planner(line.models, settings);
  pools::DeviceQueues devices(line.models, settings.devices, settings.order);
  int64_t next_us = interval_us + (past.empty() ? 0 : past.front().at_us - past.back().at_us);
  const auto replan_until = [&](int64_t now_us) {
    if (now_us < next_us) return false;
    planner.replan(next_us);
    next_us += (now_us - next_us) / interval_us * interval_us + interval_us;
    return true;
  };
  for (const pools::PoolArrival& arrival : past) {
    const int64_t at_us = arrival.at_us - past.back().at_us - 1;
    replan_until(at_us);
    planner.observe({at_us, arrival.model});
  }
  devices.set_plan(planner.plan());
  size_t good = 0;
  for (const pools::PoolArrival& arrival : arrivals) {
    if (replan_until(arrival.at_us)) devices.set_plan(planner.plan());
    good += devices.offer(arrival) ? 1 : 0;
    planner.observe(arrival);
  }
  return good;
}

/// By name and SLO scale.
std::map<std::pair<std::string, int64_t>, PlannerCase> cases_of(const PlannerArguments& arguments) {
  std::map<std::pair<std::string, int64_t>, PlannerCase> cases;
  for (ReferenceLine& line : read_reference(arguments.expected)) {
    if (line.rules != "plain") continue;
    if (!arguments.names.empty() && std::ranges::find(arguments.names, line.name) == arguments.names.end())
      continue;
    PlannerCase& one = cases[{line.name, line.slo_scale}];
    one.good[line.policy] = line.good;
    if (one.line.name.empty()) one.line = std::move(line);
  }
  return cases;
}

PlannerArguments parse(std::span<char*> words) {
  PlannerArguments arguments{words[1], words[2], 2 * kUsPerS, {}};
  for (size_t i = 3; i < words.size(); ++i) {
    if (std::strcmp(words[i], "--interval") != 0) {
      arguments.names.emplace_back(words[i]);
      continue;
    }
    const std::string text = i + 1 < words.size() ? words[++i] : "";
    int64_t seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || seconds < 1 || seconds > 86'400) {
      throw std::runtime_error(cat("--interval is a number of seconds from 1 to 86400, not '", text, "'"));
    }
    arguments.interval_us = seconds * kUsPerS;
  }
  return arguments;
}

int run(const PlannerArguments& arguments) {
  size_t reached = 0, printed = 0;
  for (const auto& [name, one] : cases_of(arguments)) {
    const Arrivals arrivals = read_arrivals(arguments.folder, one.line);
    ReferenceLine other = one.line;
    other.name += ".other";
    const size_t fresh = simulate(one.line, arrivals, {}, arguments.interval_us);
    const size_t good =
        simulate(one.line, arrivals, read_arrivals(arguments.folder, other), arguments.interval_us);
    const auto part = [&](size_t count) {
      return static_cast<double>(count) / static_cast<double>(arrivals.size());
    };
    std::printf("%-14s SLO %lld planner %.4f with a past, %.4f fresh;", name.first.c_str(),
                static_cast<long long>(name.second), part(good), part(fresh));
    for (const auto& [policy, count] : one.good) std::printf(" %s %.4f%s", policy.c_str(), part(count), ",");
    const size_t compared = one.good.at("sr-greedy-other");
    std::printf(" %.4fx\n", static_cast<double>(good) / static_cast<double>(compared));
    std::fflush(stdout);
    ++printed;
    if (good >= compared) ++reached;
  }
  std::printf("%zu of %zu cases as good as sr-greedy-other, or better\n", reached, printed);
  return printed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace atl::goodput

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "goodput_planner EXPECTED.json ARRIVALS [--interval SECONDS] [CASE...]\n");
    return 2;
  }
  return atl::goodput::run(atl::goodput::parse({argv, static_cast<size_t>(argc)}));
} catch (const std::exception& error) {
  std::fprintf(stderr, "goodput_planner: %s\n", error.what());
  return 2;
}
