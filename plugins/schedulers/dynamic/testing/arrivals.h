/// Times between requests, from a seed.
#pragma once

#include <cmath>
#include <cstdint>

#include "atoll/testing/random.h"

namespace atl::schedulers {

/// Arrivals whose gaps have a given mean and coefficient of variation: 1 is a Poisson process, more is bursts
/// with lulls between them (a hyperexponential distribution of two phases with balanced means).
class Arrivals {
 public:
  Arrivals(double mean_gap_ns, double variation)
      : mean_gap_ns_(mean_gap_ns), share_((1 + std::sqrt((sq(variation) - 1) / (sq(variation) + 1))) / 2) {}

  int64_t next_gap_ns(test::Random& random) const {
    bool burst = uniform(random) < share_;
    double mean_ns = mean_gap_ns_ / (2 * (burst ? share_ : 1 - share_));
    return static_cast<int64_t>(-mean_ns * std::log(1 - uniform(random)));
  }

 private:
  static double sq(double value) { return value * value; }
  /// 0 included, 1 not.
  static double uniform(test::Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

  double mean_gap_ns_, share_;
};

}  // namespace atl::schedulers
