/// Whether the time of looking up a wrong token tells that its id is in the file of keys: keys_timing [MEASUREMENTS] [ROUNDS]
///
/// As dudect does it (O. Reparaz, J. Balasch, I. Verbauwhede: "Dude, is my code constant time?", 2017): wrong tokens of ids that are in
/// the file and of ids that are not, in random order, all made before; Welch's t of both sets of times, of all and of those below each of
/// 100 percentiles, as interruptions of the machine are in the upper ones. Each round has new measurements, and the largest |t| of a
/// round is its result. A difference that is there grows with the root of the number of measurements and is seen in every round; one by
/// chance is not. So every round is printed, and the exit code is 1 if the median of the rounds is above 4.5.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "security/keys/key_file.h"

namespace {

using atl::keys::KeySet;

constexpr size_t kKeys = 1000;
constexpr size_t kPercentiles = 100;
constexpr double kBound = 4.5;

struct Sums {
  double count = 0, mean = 0, squares = 0;

  void add(double value) {
    count += 1;
    const double before = value - mean;
    mean += before / count;
    squares += before * (value - mean);
  }
};

double welch_t(const Sums& a, const Sums& b) {
  if (a.count < 2 || b.count < 2) return 0;
  const double spread = a.squares / (a.count - 1) / a.count + b.squares / (b.count - 1) / b.count;
  return spread == 0 ? 0 : (a.mean - b.mean) / std::sqrt(spread);
}

/// Ids of both kinds have the same length and lie between each other, so that only their being in the file differs.
std::string id_of(size_t number, bool is_known) {
  constexpr size_t kApart = 7919;
  char text[32];
  std::snprintf(text, sizeof text, "k%09zu", number * kApart * 2 + (is_known ? 0 : kApart));
  return text;
}

std::shared_ptr<KeySet> make_keys() {
  std::string file;
  for (size_t i = 0; i < kKeys; ++i) {
    std::string digest;
    for (size_t byte = 0; byte < 32; ++byte) {
      char hex[3];
      std::snprintf(hex, sizeof hex, "%02zx", (i * 31 + byte * 97 + 1) % 256);
      digest += hex;
    }
    file += id_of(i, true) + ":" + digest + ":*\n";
  }
  auto keys = KeySet::parse(file);
  if (!keys.ok()) {
    std::fprintf(stderr, "%s\n", std::string(keys.status().message()).c_str());
    std::exit(2);
  }
  return keys.value();
}

struct Measurement {
  std::string token;
  bool is_known = false;
  double ns = 0;
};

std::vector<Measurement> make_measurements(size_t count, std::mt19937_64& random) {
  std::vector<Measurement> all(count);
  for (Measurement& one : all) {
    one.is_known = random() % 2 == 0;
    char secret[48];
    std::snprintf(secret, sizeof secret, "%016llx%016llx", static_cast<unsigned long long>(random()),
                  static_cast<unsigned long long>(random()));
    one.token = "atk_" + id_of(random() % kKeys, one.is_known) + "_" + secret;
  }
  return all;
}

double largest_t(const std::vector<Measurement>& all) {
  std::vector<double> sorted;
  sorted.reserve(all.size());
  for (const Measurement& one : all) sorted.push_back(one.ns);
  std::ranges::sort(sorted);
  double largest = 0;
  for (size_t i = 0; i <= kPercentiles; ++i) {
    const double share = 1 - std::pow(0.5, 10.0 * static_cast<double>(i + 1) / kPercentiles);
    const auto place =
        std::min(sorted.size() - 1, static_cast<size_t>(share * static_cast<double>(sorted.size())));
    const double most = i == kPercentiles ? sorted.back() : sorted[place];
    Sums known, unknown;
    for (const Measurement& one : all) {
      if (one.ns <= most) (one.is_known ? known : unknown).add(one.ns);
    }
    const double t = welch_t(known, unknown);
    if (std::fabs(t) > std::fabs(largest)) largest = t;
  }
  return largest;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  const size_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 9;
  const std::shared_ptr<const KeySet> keys = make_keys();
  std::mt19937_64 random(std::random_device{}());
  std::vector<double> results;
  for (size_t round = 0; round <= rounds; ++round) {
    std::vector<Measurement> all = make_measurements(count, random);
    for (Measurement& one : all) {
      const auto begin = std::chrono::steady_clock::now();
      const bool is_somebody = KeySet::find(keys, one.token) != nullptr;
      const auto end = std::chrono::steady_clock::now();
      if (is_somebody) return 2;
      one.ns = static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count());
    }
    if (round == 0) continue;  // caches and branch predictors were cold
    const double t = largest_t(all);
    std::vector<double> times;
    for (const Measurement& one : all) times.push_back(one.ns);
    std::ranges::nth_element(times, times.begin() + static_cast<long>(times.size() / 2));
    std::printf("round %zu: largest t %+.2f, median %.0f ns\n", round, t, times[times.size() / 2]);
    std::fflush(stdout);
    results.push_back(std::fabs(t));
  }
  std::ranges::sort(results);
  const double median = results[results.size() / 2];
  std::printf("%zu measurements a round: |t| %.2f at the median, %.2f to %.2f; below %.1f: %s\n", count,
              median, results.front(), results.back(), kBound, median < kBound ? "yes" : "no");
  return median < kBound ? 0 : 1;
}
