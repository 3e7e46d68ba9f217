#include "pools/leases/book/pool_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/random.h"
#include "pools/leases/testing/best_fit_placement.h"

namespace atl::pools {
namespace {

using Kind = PoolPlaces::Decision::Kind;

/// Leases that are put where they are decided to go, and stay.
class PoolPlacesTest : public testing::Test {
 protected:
  using Texts = std::vector<std::string>;
  struct Lease {
    uint64_t quota;
    Texts backends;  ///< empty: not known
    Texts models;
    uint32_t instance;
  };

  PoolPlaces& make(uint64_t capacity, uint32_t instances_max, bool enforce = true,
                   bool unknown_needs_new = false) {
    places_ = std::make_unique<PoolPlaces>(
        PlacesRules{"p", capacity, instances_max, enforce, unknown_needs_new}, names_);
    return *places_;
  }
  BackendSet set_of(const std::vector<std::string>& backends) {
    BackendSet set;
    for (const std::string& backend : backends) EXPECT_TRUE(names_.add(backend, set));
    return set;
  }
  /// With what lives as long as the call.
  template <class Use>
  auto with_needs(const Lease& lease, Use&& use) {
    PlaceNeeds needs;
    needs.quota = lease.quota;
    if (!lease.backends.empty()) needs.backends = set_of(lease.backends);
    needs.models = {lease.models.begin(), lease.models.end()};
    return use(needs);
  }
  /// \param models  none: one of its own
  /// \returns "i1", "new i1", or the refusal
  std::string create(uint64_t quota, Texts backends = {"onnxruntime"}, Texts models = {}) {
    if (models.empty()) models.push_back(cat("m", created_++));
    Lease lease{quota, std::move(backends), std::move(models), 0};
    return with_needs(lease, [&](const PlaceNeeds& needs) -> std::string {
      PoolPlaces::Decision decision = places_->decide(needs, best_fit_);
      if (decision.kind == Kind::kRefused) return cat(decision.refusal.message());
      const bool is_new = decision.kind == Kind::kNewInstance;
      lease.instance = is_new ? add_instance() : decision.instance;
      places_->put(lease.instance, needs);
      leases_.push_back(lease);
      return cat(is_new ? "new " : "", "i", lease.instance);
    });
  }
  uint32_t add_instance() {
    const uint32_t number = places_->unused_number();
    places_->add_instance(number);
    return number;
  }
  void end(size_t index) {
    const Lease lease = leases_.at(index);
    leases_.erase(leases_.begin() + static_cast<ptrdiff_t>(index));
    with_needs(lease, [&](const PlaceNeeds& needs) { places_->take_off(lease.instance, needs); });
  }
  uint64_t free(uint32_t instance) const { return places_->place(instance).free; }

  BackendNames names_;
  BestFitPlacement best_fit_;
  std::unique_ptr<PoolPlaces> places_;
  std::vector<Lease> leases_;
  int created_ = 0;
};

// --- quota ---

TEST_F(PoolPlacesTest, LeasesThatFillAnInstanceExactlyFit) {
  make(8, 2);
  EXPECT_EQ(create(2), "new i0");
  EXPECT_EQ(create(6), "i0");
  EXPECT_EQ(free(0), 0u);
  EXPECT_EQ(create(1), "new i1");
  EXPECT_EQ(create(8), "pool 'p' has no instance with 8 free: i0 free 0, i1 free 7; at maximum 2");
}

TEST_F(PoolPlacesTest, AUnitIsASlot) {
  make(4, 2);
  EXPECT_EQ(create(1), "new i0");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(create(1), "i0");
  EXPECT_EQ(create(1), "new i1");
}

TEST_F(PoolPlacesTest, OneInstanceHoldsAllOfALease) {
  make(8, 2);
  EXPECT_EQ(create(5), "new i0");
  EXPECT_EQ(create(5), "new i1");
  EXPECT_EQ(create(4), "pool 'p' has no instance with 4 free: i0 free 3, i1 free 3; at maximum 2");
}

TEST_F(PoolPlacesTest, TheBestOneIsTakenAndWhatIsGivenBackIsFree) {
  make(8, 2);
  EXPECT_EQ(create(5), "new i0");
  EXPECT_EQ(create(6), "new i1");
  EXPECT_EQ(create(2), "i1");
  end(1);
  EXPECT_EQ(free(1), 6u);
  EXPECT_EQ(create(6), "i1");
  EXPECT_EQ(places_->largest_free(), 3u);
}

TEST_F(PoolPlacesTest, MoreThanAnInstanceHasIsRefusedBeforeAnythingElse) {
  make(8, 2);
  EXPECT_EQ(create(9), "lease asks for quota 9 but instances of pool 'p' have 8");
  EXPECT_EQ(places_->instance_count(), 0u);
  make(UINT64_MAX, 1);
  EXPECT_EQ(create(UINT64_MAX), "new i0");
  EXPECT_EQ(create(1), "pool 'p' has no instance with 1 free: i0 free 0; at maximum 1");
}

// --- backends ---

TEST_F(PoolPlacesTest, LaterLeasesKeepToTheBackendsOfTheFirst) {
  make(8, 2);
  EXPECT_EQ(create(1, {"a", "b"}), "new i0");
  EXPECT_EQ(create(1, {"a"}), "i0");
  EXPECT_EQ(create(1, {"c"}), "new i1");
  EXPECT_EQ(create(1, {"b", "a"}), "i0");
  EXPECT_EQ(create(1, {"a", "c"}),
            "pool 'p' has no instance with 1 free: i0 free 5 (backends a, b, lease needs a, c), i1 free 7 "
            "(backends c, lease needs a, c); at maximum 2");
}

TEST_F(PoolPlacesTest, ALeaseThatNeedsAnotherBackendDoesNotJoin) {
  make(8, 2);
  EXPECT_EQ(create(1, {"a"}), "new i0");
  EXPECT_EQ(create(1, {"a", "b"}), "new i1");
}

TEST_F(PoolPlacesTest, AnUnknownModelGetsAnInstanceOfItsOwn) {
  make(8, 2);
  EXPECT_EQ(create(1, {"a"}), "new i0");
  EXPECT_EQ(create(1, {}), "new i1");
  EXPECT_EQ(
      create(1, {}),
      "pool 'p' has no instance with 1 free: i0 free 7 (in use, and the lease's backends are not known), "
      "i1 free 7 (its backends are not known yet); at maximum 2");
  EXPECT_EQ(create(8, {"a"}), "pool 'p' has no instance with 8 free: i0 free 7, i1 free 7; at maximum 2");
  places_->set_backends(1, InstanceBackends::kKnown, set_of({"b"}));
  EXPECT_EQ(create(1, {"b"}), "i1");
}

TEST_F(PoolPlacesTest, ABlankInstanceTakesAnUnknownModelUnlessToldOtherwise) {
  make(8, 1).add_instance(0);
  EXPECT_EQ(create(1, {}), "i0");
  make(8, 2, true, true).add_instance(0);
  EXPECT_EQ(create(1, {}), "new i1");
  EXPECT_EQ(create(1, {}),
            "pool 'p' has no instance with 1 free: i0 free 8 (is not new, and the lease's backends are not "
            "known), i1 free 7 (its backends are not known yet); at maximum 2");
}

TEST_F(PoolPlacesTest, AnInstanceKeepsItsBackendsUntilItIsBlankAgain) {
  make(8, 1);
  EXPECT_EQ(create(1, {"a"}), "new i0");
  end(0);
  EXPECT_EQ(create(1, {"b"}),
            "pool 'p' has no instance with 1 free: i0 free 8 (backends a, lease needs b); at maximum 1");
  places_->set_backends(0, InstanceBackends::kBlank, {});
  EXPECT_EQ(create(1, {"b"}), "i0");
}

TEST_F(PoolPlacesTest, WithoutEnforcementOnlyQuotaCounts) {
  make(8, 2, false);
  EXPECT_EQ(create(1, {"a"}), "new i0");
  EXPECT_EQ(create(1, {}), "i0");
  EXPECT_EQ(create(1, {"b"}), "i0");
}

TEST_F(PoolPlacesTest, ThereIsANumberForEachOfMany) {
  BackendSet set;
  for (size_t i = 0; i < kBackendsMax; ++i) EXPECT_TRUE(names_.add(cat("b", i), set));
  EXPECT_TRUE(set.all());
  EXPECT_FALSE(names_.add("one more", set));
  EXPECT_TRUE(names_.add("b7", set));
  EXPECT_EQ(names_.names_of(set).size(), kBackendsMax);
}

// --- which instances are asked ---

TEST_F(PoolPlacesTest, AModelsNameIsOnAnInstanceOnce) {
  make(8, 2);
  EXPECT_EQ(create(1, {"a"}, {"m", "n"}), "new i0");
  EXPECT_EQ(create(1, {"a"}, {"o", "n"}), "new i1");
  EXPECT_EQ(create(1, {"a"}, {"n"}),
            "pool 'p' has no instance with 1 free: i0 free 7 (hosts a model 'n' of another lease), i1 free 7 "
            "(hosts a model 'n' of another lease); at maximum 2");
  EXPECT_EQ(create(1, {"a"}, {"m"}), "i1");
  end(0);
  EXPECT_EQ(create(1, {"a"}, {"n"}), "i0");
}

TEST_F(PoolPlacesTest, WhatIsClosedGetsNothing) {
  make(8, 2);
  EXPECT_EQ(create(1), "new i0");
  places_->set_open(0, false);
  EXPECT_EQ(places_->largest_free(), 0u);
  EXPECT_EQ(create(1), "new i1");
  EXPECT_EQ(create(8),
            "pool 'p' has no instance with 8 free: i0 takes no leases now, i1 free 7; at maximum 2");
  places_->set_open(0, true);
  EXPECT_EQ(create(7), "i0");
}

TEST_F(PoolPlacesTest, NumbersAreTheLowestThatAreUnused) {
  make(1, 5);
  for (const char* expected : {"new i0", "new i1", "new i2"}) EXPECT_EQ(create(1), expected);
  end(1);
  places_->remove_instance(1);
  EXPECT_TRUE(
      std::ranges::none_of(places_->places(), [](const Place& place) { return place.instance == 1; }));
  EXPECT_EQ(places_->instance_count(), 2u);
  EXPECT_EQ(create(1), "new i1");
  places_->add_instance(4);
  EXPECT_EQ(create(1), "i4");
  EXPECT_EQ(places_->places().size(), 4u);
}

TEST_F(PoolPlacesTest, ALowerMaximumTakesNothingAway) {
  make(1, 3);
  for (int i = 0; i < 2; ++i) (void)create(1);
  places_->set_instances_max(1);
  EXPECT_EQ(create(1), "pool 'p' has no instance with 1 free: i0 free 0, i1 free 0; at maximum 1");
}

TEST_F(PoolPlacesTest, ARefusalTellsOfAFewOfMany) {
  make(1, 100);
  for (int i = 0; i < 100; ++i) (void)create(1);
  EXPECT_EQ(
      create(1),
      "pool 'p' has no instance with 1 free: i0 free 0, i1 free 0, i2 free 0, i3 free 0, i4 free 0, i5 free "
      "0, i6 free 0, i7 free 0, and 92 more; at maximum 100");
}

// --- any order of events, against rules that are counted anew each time ---

class Oracle {
 public:
  struct PoolInstance {
    bool open = true;
    InstanceBackends state = InstanceBackends::kBlank;
    BackendSet backends;
  };
  struct Lease {
    uint64_t quota;
    std::optional<BackendSet> backends;
    std::vector<std::string> models;
    uint32_t instance;
  };

  std::map<uint32_t, PoolInstance> instances;
  std::vector<Lease> leases;

  uint64_t used(uint32_t instance) const {
    uint64_t sum = 0;
    for (const Lease& lease : leases) sum += lease.instance == instance ? lease.quota : 0;
    return sum;
  }
  bool can_host(uint32_t number, const Lease& wanted, const PlacesRules& rules) const {
    const PoolInstance& instance = instances.at(number);
    if (!instance.open || used(number) + wanted.quota > rules.capacity) return false;
    for (const Lease& lease : leases) {
      if (lease.instance != number) continue;
      for (const std::string& model : wanted.models) {
        if (std::ranges::find(lease.models, model) != lease.models.end()) return false;
      }
    }
    if (!rules.enforce_backends) return true;
    if (instance.state == InstanceBackends::kBlank)
      return wanted.backends || !rules.unknown_needs_new_instance;
    return instance.state == InstanceBackends::kKnown && wanted.backends &&
           is_subset(*wanted.backends, instance.backends);
  }
};

/// One pool, its twin of naive rules, and events in any order.
class RandomPool {
 public:
  explicit RandomPool(uint64_t seed) : random_(seed), places_(rules_of(random_), names_) {
    for (const char* name : {"a", "b", "c"}) (void)names_.number_of(name);
  }
  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      step();
      compare();
    }
  }
  int placed = 0, grown = 0, refused = 0;

 private:
  static PlacesRules rules_of(test::Random& random) {
    return {"p", 1 + random.below(12), 1 + static_cast<uint32_t>(random.below(6)), random.chance(70),
            random.chance(30)};
  }
  void step() {
    switch (random_.below(8)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return create();
      case 4:
      case 5:
        return end();
      case 6:
        return change_instance();
      default:
        return add_or_remove();
    }
  }
  std::vector<std::string_view> views(const Oracle::Lease& lease) const {
    return {lease.models.begin(), lease.models.end()};
  }
  void create() {
    Oracle::Lease lease{1 + random_.below(places_.rules().capacity + 1), std::nullopt, {}, 0};
    if (random_.chance(80)) lease.backends = BackendSet(1 + random_.below(7));
    std::set<std::string> models;
    for (uint64_t i = 0; i <= random_.below(3); ++i) models.insert(cat("m", random_.below(8)));
    lease.models.assign(models.begin(), models.end());
    const auto names = views(lease);
    const PlaceNeeds needs{lease.quota, lease.backends, names};
    std::set<std::pair<uint64_t, uint32_t>> fitting;  // by what is free after it
    for (const auto& [number, instance] : oracle_.instances) {
      const bool fits = oracle_.can_host(number, lease, places_.rules());
      if (fits) fitting.insert({places_.rules().capacity - oracle_.used(number), number});
      ASSERT_EQ(places_.why_not(places_.place(number), needs).empty(), fits);
    }
    const PoolPlaces::Decision decision = places_.decide(needs, best_fit_);
    if (lease.quota > places_.rules().capacity) {
      ASSERT_EQ(decision.kind, Kind::kRefused);
      ASSERT_EQ(decision.refusal.code(), Code::kInvalidArgument);
    } else if (!fitting.empty()) {
      ASSERT_EQ(decision.kind, Kind::kInstance);
      ASSERT_EQ(decision.instance, fitting.begin()->second);
      put(decision.instance, lease, needs);
      ++placed;
    } else if (oracle_.instances.size() < places_.rules().instances_max) {
      ASSERT_EQ(decision.kind, Kind::kNewInstance);
      put(add(), lease, needs);
      ++grown;
    } else {
      ASSERT_EQ(decision.kind, Kind::kRefused);
      ASSERT_EQ(decision.refusal.code(), Code::kResourceExhausted);
      ++refused;
    }
  }
  void put(uint32_t number, Oracle::Lease lease, const PlaceNeeds& needs) {
    places_.put(number, needs);
    lease.instance = number;
    Oracle::PoolInstance& instance = oracle_.instances.at(number);
    if (instance.state == InstanceBackends::kBlank) {
      instance.state = lease.backends ? InstanceBackends::kKnown : InstanceBackends::kUnknown;
      instance.backends = lease.backends.value_or(BackendSet());
    }
    oracle_.leases.push_back(std::move(lease));
  }
  uint32_t add() {
    uint32_t number = 0;
    while (oracle_.instances.contains(number)) ++number;
    EXPECT_EQ(places_.unused_number(), number);
    places_.add_instance(number);
    oracle_.instances[number] = {};
    return number;
  }
  void end_lease(size_t at) {
    const Oracle::Lease lease = oracle_.leases[at];
    oracle_.leases.erase(oracle_.leases.begin() + static_cast<ptrdiff_t>(at));
    const auto names = views(lease);
    places_.take_off(lease.instance, {lease.quota, lease.backends, names});
  }
  void end() {
    if (!oracle_.leases.empty()) end_lease(random_.below(oracle_.leases.size()));
  }
  uint32_t any_instance() {
    return std::next(oracle_.instances.begin(),
                     static_cast<ptrdiff_t>(random_.below(oracle_.instances.size())))
        ->first;
  }
  void change_instance() {
    if (oracle_.instances.empty()) return;
    const uint32_t number = any_instance();
    Oracle::PoolInstance& instance = oracle_.instances[number];
    if (random_.chance(50)) {
      instance.open = !instance.open;
      places_.set_open(number, instance.open);
    } else if (instance.state == InstanceBackends::kUnknown) {
      instance.state = InstanceBackends::kKnown;
      instance.backends = BackendSet(1 + random_.below(7));
      places_.set_backends(number, InstanceBackends::kKnown, instance.backends);
    } else if (oracle_.used(number) == 0) {
      instance.state = InstanceBackends::kBlank;
      instance.backends.reset();
      places_.set_backends(number, InstanceBackends::kBlank, {});
    }
  }
  /// An instance that dies takes its leases with it.
  void add_or_remove() {
    if (random_.chance(50)) {
      if (oracle_.instances.size() < places_.rules().instances_max) (void)add();
    } else if (!oracle_.instances.empty()) {
      const uint32_t number = any_instance();
      for (size_t i = oracle_.leases.size(); i-- > 0;) {
        if (oracle_.leases[i].instance == number) end_lease(i);
      }
      places_.remove_instance(number);
      oracle_.instances.erase(number);
    }
  }
  void compare() {
    ASSERT_EQ(places_.instance_count(), oracle_.instances.size());
    ASSERT_LE(places_.instance_count(), places_.rules().instances_max);
    uint64_t largest = 0;
    for (const auto& [number, instance] : oracle_.instances) {
      const Place& place = places_.place(number);
      ASSERT_EQ(place.used, oracle_.used(number));
      ASSERT_LE(place.used, places_.rules().capacity);
      ASSERT_EQ(place.free, places_.rules().capacity - place.used);
      ASSERT_EQ(place.backends_state, instance.state);
      ASSERT_EQ(place.backends, instance.backends);
      if (instance.open) largest = std::max(largest, place.free);
    }
    ASSERT_EQ(places_.largest_free(), largest);
  }

  test::Random random_;
  BackendNames names_;
  BestFitPlacement best_fit_;
  PoolPlaces places_;
  Oracle oracle_;
};

TEST(PoolPlacesProperty, PlacesWhatASearchOfAllInstancesWouldPlaceAndRefusesTheRest) {
  int placed = 0, grown = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    RandomPool pool(seed);
    pool.run(300);
    if (testing::Test::HasFatalFailure()) return;
    placed += pool.placed, grown += pool.grown, refused += pool.refused;
  }
  // Each of the three is tested.
  EXPECT_GT(placed, 1000);
  EXPECT_GT(grown, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace atl::pools
