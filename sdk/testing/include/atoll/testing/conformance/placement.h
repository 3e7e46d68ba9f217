/// Conformance of "atoll.placement/1".
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/pools/placement.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/random.h"

namespace atl::test {

struct PlacementProvider {
  std::string name;
  std::function<std::shared_ptr<Placement>()> make;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const PlacementProvider& provider, std::ostream* out) { *out << provider.name; }
};

/// A lease and who can host it.
struct PlacementCase {
  PlacementLease lease;
  std::vector<PlacementCandidate> candidates;

  /// \param count  of candidates, 1 at least
  static PlacementCase random(Random& random, size_t count) {
    PlacementCase made;
    // Small numbers have many ties, large ones overflow what is too narrow.
    made.lease.capacity =
        random.chance(10) ? UINT64_MAX : 1 + random.below(random.chance(50) ? 8 : 1'000'000);
    made.lease.quota = 1 + random.below(made.lease.capacity);
    uint32_t number = 0;
    for (size_t i = 0; i < count; ++i) {
      number += 1 + static_cast<uint32_t>(random.below(5));
      const uint64_t spare = made.lease.capacity - made.lease.quota;
      const uint64_t free = made.lease.quota + random.below(spare + 1);
      const bool is_empty = free == made.lease.capacity;
      made.candidates.push_back({number, is_empty ? 0 : 1 + static_cast<uint32_t>(random.below(20)), free});
    }
    return made;
  }
};

class PlacementConformance : public Conformance<PlacementProvider> {};

TEST_P(PlacementConformance, TheOnlyOneIsChosen) {
  check([&] {
    const auto placement = GetParam().make();
    Random random(1);
    for (int i = 0; i < 1000; ++i) {
      const PlacementCase made = PlacementCase::random(random, 1);
      ASSERT_EQ(placement->choose(made.lease, made.candidates), 0u);
    }
  });
}

TEST_P(PlacementConformance, OneOfThemIsChosen) {
  check([&] {
    const auto placement = GetParam().make();
    Random random(2);
    for (int i = 0; i < 10'000; ++i) {
      const PlacementCase made = PlacementCase::random(random, 1 + random.below(50));
      ASSERT_LT(placement->choose(made.lease, made.candidates), made.candidates.size());
    }
  });
}

TEST_P(PlacementConformance, TheSameIsChosenAgainWhateverWasAskedBetween) {
  check([&] {
    const auto placement = GetParam().make();
    Random random(3);
    for (int i = 0; i < 1000; ++i) {
      const PlacementCase first = PlacementCase::random(random, 1 + random.below(50));
      const PlacementCase other = PlacementCase::random(random, 1 + random.below(50));
      const size_t chosen = placement->choose(first.lease, first.candidates);
      (void)placement->choose(other.lease, other.candidates);
      ASSERT_EQ(placement->choose(first.lease, first.candidates), chosen);
      ASSERT_EQ(GetParam().make()->choose(first.lease, first.candidates), chosen) << "another object";
    }
  });
}

/// Numbers are names: two pools that differ in nothing else are filled alike.
TEST_P(PlacementConformance, TheNumbersThemselvesDoNotMatter) {
  check([&] {
    const auto placement = GetParam().make();
    Random random(4);
    for (int i = 0; i < 1000; ++i) {
      PlacementCase made = PlacementCase::random(random, 1 + random.below(50));
      const size_t chosen = placement->choose(made.lease, made.candidates);
      uint32_t number = 0;
      for (PlacementCandidate& candidate : made.candidates) candidate.instance = number++;
      ASSERT_EQ(placement->choose(made.lease, made.candidates), chosen);
    }
  });
}

TEST_P(PlacementConformance, ManyThreadsAskAtOnce) {
  check([&] {
    const auto placement = GetParam().make();
    Random random(5);
    std::vector<PlacementCase> cases;
    std::vector<size_t> chosen;
    for (int i = 0; i < 100; ++i) {
      cases.push_back(PlacementCase::random(random, 1 + random.below(50)));
      chosen.push_back(placement->choose(cases.back().lease, cases.back().candidates));
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (size_t i = 0; i < cases.size(); ++i) {
          if (placement->choose(cases[i].lease, cases[i].candidates) != chosen[i]) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  });
}

}  // namespace atl::test
