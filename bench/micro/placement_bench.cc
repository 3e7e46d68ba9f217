/// What placing a lease costs, and how well the placements pack: in process, with nothing started.
///
///     placement_bench [SEED]
///
/// Decisions: a pool is filled with 10,000 leases over 1,000 instances and then, full to a part, sees leases come and
/// go; nanoseconds of one decision with its book-keeping. Packing: instances that leases of random quotas need, through
/// the fewest that could hold them; for few leases the fewest are searched for.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/testing/random.h"
#include "placement/best_fit/best_fit.h"
#include "placement/first_fit/first_fit.h"
#include "placement/spread/spread.h"
#include "pools/leases/book/pool_places.h"

namespace atl::pools {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = PoolPlaces::Decision::Kind;

constexpr uint64_t kCapacity = 100;
constexpr uint32_t kInstances = 1'000;
constexpr size_t kLeases = 10'000;

struct Lease {
  uint64_t quota = 0;
  uint32_t instance = 0;
  std::string model;
};

struct Figures {
  std::vector<int64_t> ns;

  int64_t at(double part) {
    const auto index = static_cast<size_t>(part * static_cast<double>(ns.size() - 1));
    std::nth_element(ns.begin(), ns.begin() + static_cast<ptrdiff_t>(index), ns.end());
    return ns[index];
  }
};

/// The instance; a new one where it is to be one.
uint32_t place_of(const PoolPlaces::Decision& decision, PoolPlaces& places) {
  if (decision.kind == Kind::kInstance) return decision.instance;
  const uint32_t number = places.unused_number();
  places.add_instance(number);
  return number;
}

/// A pool that is filled, and then sees a lease end and another one come.
class Decisions {
 public:
  Decisions(const Placement& placement, uint64_t seed)
      : placement_(placement), random_(seed), places_({"bench", kCapacity, kInstances, true, false}, names_) {
    for (int i = 0; i < 4; ++i) (void)names_.number_of(cat("backend", i));
  }

  void run(const char* name) {
    Figures filling, running;
    while (leases_.size() < kLeases) create(filling);
    // One of three was refused or ended: some room everywhere, much nowhere.
    for (size_t i = 0; i < kLeases / 3; ++i) end();
    for (size_t i = 0; i < kLeases; ++i) {
      create(running);
      end();
    }
    std::printf("| %s | %u | %zu | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", name,
                places_.instance_count(), leases_.size(), us(filling.at(0.5)), us(filling.at(0.99)),
                us(filling.at(1)), us(running.at(0.5)), us(running.at(0.99)), us(running.at(1)));
  }

 private:
  static double us(int64_t ns) { return static_cast<double>(ns) / 1000; }

  void create(Figures& figures) {
    // A few models are everywhere, so instances that have one are looked at for it.
    Lease lease{1 + random_.below(18), 0, cat("model", random_.below(500))};
    const std::string_view model = lease.model;
    const PlaceNeeds needs{lease.quota, BackendSet(uint64_t{1} << random_.below(4)), {model}};
    const auto begin = Clock::now();
    const PoolPlaces::Decision decision = places_.decide(needs, placement_);
    if (decision.kind != Kind::kRefused) {
      lease.instance = place_of(decision, places_);
      places_.put(lease.instance, needs);
    }
    figures.ns.push_back((Clock::now() - begin).count());
    if (decision.kind == Kind::kRefused) {
      std::fprintf(stderr, "%s\n", std::string(decision.refusal.message()).c_str());
      std::exit(1);
    }
    leases_.push_back(std::move(lease));
  }
  void end() {
    const size_t at = random_.below(leases_.size());
    std::swap(leases_[at], leases_.back());
    const std::string_view model = leases_.back().model;
    places_.take_off(leases_.back().instance, {leases_.back().quota, std::nullopt, {model}});
    leases_.pop_back();
  }

  const Placement& placement_;
  test::Random random_;
  BackendNames names_;
  PoolPlaces places_;
  std::vector<Lease> leases_;
};

/// Instances that the leases need, one after the other.
uint32_t instances_for(const std::vector<uint64_t>& quotas, const Placement& placement) {
  const BackendNames names;
  PoolPlaces places({"bench", kCapacity, kInstances, false, false}, names);
  for (const uint64_t quota : quotas) {
    const PlaceNeeds needs{quota, std::nullopt, {}};
    const PoolPlaces::Decision decision = places.decide(needs, placement);
    places.put(place_of(decision, places), needs);
  }
  return places.instance_count();
}

/// The fewest instances, by search.
class Optimum {
 public:
  static uint32_t of(std::vector<uint64_t> quotas) {
    std::ranges::sort(quotas, std::greater());
    Optimum search(std::move(quotas));
    search.place(0);
    return search.best_;
  }

 private:
  explicit Optimum(std::vector<uint64_t> quotas)
      : quotas_(std::move(quotas)), best_(static_cast<uint32_t>(quotas_.size())) {}
  void place(size_t at) {
    if (free_.size() >= best_) return;
    if (at == quotas_.size()) {
      best_ = static_cast<uint32_t>(free_.size());
      return;
    }
    std::vector<uint64_t> tried;
    for (size_t i = 0; i < free_.size(); ++i) {
      if (free_[i] < quotas_[at] || std::ranges::find(tried, free_[i]) != tried.end()) continue;
      tried.push_back(free_[i]);
      free_[i] -= quotas_[at];
      place(at + 1);
      free_[i] += quotas_[at];
    }
    free_.push_back(kCapacity - quotas_[at]);
    place(at + 1);
    free_.pop_back();
  }

  std::vector<uint64_t> quotas_, free_;
  uint32_t best_;
};

struct Packing {
  const char* name;
  size_t leases;
  uint64_t smallest, largest;  ///< quota
  bool searched;  ///< beside the fewest by search; else beside the sum of quotas through the capacity
};

void pack(const Packing& packing, const std::vector<const Placement*>& placements, test::Random& random) {
  constexpr int kRounds = 50;
  std::vector<double> sums(placements.size());
  for (int round = 0; round < kRounds; ++round) {
    std::vector<uint64_t> quotas;
    uint64_t sum = 0;
    for (size_t i = 0; i < packing.leases; ++i) {
      quotas.push_back(packing.smallest + random.below(packing.largest - packing.smallest + 1));
      sum += quotas.back();
    }
    const double fewest =
        packing.searched ? Optimum::of(quotas) : static_cast<double>((sum + kCapacity - 1) / kCapacity);
    for (size_t i = 0; i < placements.size(); ++i) sums[i] += instances_for(quotas, *placements[i]) / fewest;
  }
  std::printf("| %s |", packing.name);
  for (const double total : sums) std::printf(" %.3f |", total / kRounds);
  std::printf("\n");
}

void run(uint64_t seed) {
  const placement::BestFit best_fit;
  const placement::FirstFit first_fit;
  const placement::Spread spread;
  std::printf("Decisions, microseconds: filling up to %zu leases, then one ends and one comes\n\n", kLeases);
  std::printf("| placement | instances | leases | p50 | p99 | most | p50, then | p99 | most |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  Decisions(best_fit, seed).run("best_fit");
  Decisions(first_fit, seed).run("first_fit");
  Decisions(spread, seed).run("spread");

  std::printf("\nInstances through the fewest, mean of 50 sets of leases\n\n");
  std::printf("| leases, quota of 100 | best_fit | first_fit | spread |\n| --- | --- | --- | --- |\n");
  test::Random random(seed);
  for (const Packing& packing : {Packing{"12, 10 to 60 (fewest by search)", 12, 10, 60, true},
                                 Packing{"12, 20 to 50 (fewest by search)", 12, 20, 50, true},
                                 Packing{"1000, 1 to 15 (sum of quotas)", 1000, 1, 15, false},
                                 Packing{"1000, 10 to 60 (sum of quotas)", 1000, 10, 60, false},
                                 Packing{"1000, 20 to 50 (sum of quotas)", 1000, 20, 50, false}}) {
    pack(packing, {&best_fit, &first_fit, &spread}, random);
  }
}

}  // namespace
}  // namespace atl::pools

int main(int argc, char** argv) { atl::pools::run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1); }
