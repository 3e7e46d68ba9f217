/// Counts requests in time as the public simulator of AlpaServe does, on the same arrivals.
///
///     goodput_reference EXPECTED.json ARRIVALS [CASE...]
///
/// ARRIVALS is the folder that make_arrivals.py has filled. Prints a line for each line of the cases that are named, or
/// of all; the last number is what was counted here through what was counted there. Exits 1 if one differs by more than
/// 7 requests, which is what that simulator's rounding is worth, and 2 if something cannot be read.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "goodput/reference/reference_cases.h"
#include "pools/leases/planner/device_queues.h"

namespace atl::goodput {
namespace {

constexpr size_t kDifferenceMax = 7;

size_t count(const ReferenceLine& line, std::span<const pools::PoolArrival> arrivals) {
  size_t good = 0;
  for (size_t i = 0; i < line.segments.size(); ++i) {
    const size_t begin = line.segments[i].first_arrival;
    const size_t end = i + 1 < line.segments.size() ? line.segments[i + 1].first_arrival : arrivals.size();
    good += count_in_time(line.models, line.segments[i].plan, pools::DeviceOrder::kArrival,
                          arrivals.subspan(begin, end - begin));
  }
  return good;
}

/// \returns whether the counts are close enough
bool print(const ReferenceLine& line, std::span<const pools::PoolArrival> arrivals) {
  const size_t good = count(line, arrivals);
  const size_t difference = std::max(good, line.good) - std::min(good, line.good);
  std::printf("%-14s SLO %lld %-7s %-15s in time %zu of %zu, reference %zu, difference %zu: %.4fx\n",
              line.name.c_str(), static_cast<long long>(line.slo_scale), line.rules.c_str(),
              line.policy.c_str(), good, arrivals.size(), line.good, difference,
              static_cast<double>(good) / static_cast<double>(line.good));
  return difference <= kDifferenceMax;
}

int run(std::span<char*> arguments) {
  const std::vector<std::string> names(arguments.begin() + 3, arguments.end());
  std::string last;
  std::vector<pools::PoolArrival> arrivals;
  size_t printed = 0, bad = 0;
  for (const ReferenceLine& line : read_reference(arguments[1])) {
    if (!names.empty() && std::ranges::find(names, line.name) == names.end()) continue;
    if (line.name != last) arrivals = read_arrivals(arguments[2], line);
    last = line.name;
    ++printed;
    if (!print(line, arrivals)) ++bad;
  }
  std::printf("%zu of %zu lines within %zu requests\n", printed - bad, printed, kDifferenceMax);
  return bad == 0 && printed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace atl::goodput

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "goodput_reference EXPECTED.json ARRIVALS [CASE...]\n");
    return 2;
  }
  return atl::goodput::run({argv, static_cast<size_t>(argc)});
} catch (const std::exception& error) {
  std::fprintf(stderr, "goodput_reference: %s\n", error.what());
  return 2;
}
