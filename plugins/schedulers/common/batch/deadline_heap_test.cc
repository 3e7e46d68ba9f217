#include "schedulers/common/batch/deadline_heap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "atoll/testing/random.h"

namespace atl::schedulers {
namespace {

TEST(DeadlineHeap, AnEmptyOneNeverEnds) {
  DeadlineHeap heap;
  EXPECT_EQ(heap.first_ns(), DeadlineHeap::kNever);
  EXPECT_EQ(heap.size(), 0u);
}

TEST(DeadlineHeap, ARequestThatIsNotInsideIsLeftAlone) {
  Request inside, outside;
  DeadlineHeap heap;
  heap.remove(outside);
  heap.add(inside, 5);
  heap.remove(outside);
  EXPECT_EQ(heap.size(), 1u);
  heap.remove(inside);
  heap.remove(inside);
  EXPECT_EQ(heap.size(), 0u);
}

TEST(DeadlineHeap, TheExtremesAreDeadlinesToo) {
  Request never, past, zero;
  DeadlineHeap heap;
  heap.add(never, DeadlineHeap::kNever);
  heap.add(past, INT64_MIN);
  heap.add(zero, 0);
  EXPECT_EQ(&heap.first(), &past);
  heap.remove(past);
  EXPECT_EQ(&heap.first(), &zero);
  heap.remove(zero);
  EXPECT_EQ(&heap.first(), &never);
}

TEST(DeadlineHeap, EqualDeadlinesKeepTheOrderOfArrival) {
  std::vector<Request> requests(40);
  DeadlineHeap heap;
  for (Request& request : requests) heap.add(request, 7);
  for (Request& request : requests) {
    EXPECT_EQ(&heap.first() - requests.data(), &request - requests.data());
    heap.remove(heap.first());
  }
}

/// The naive model: a map ordered by deadline and then by arrival.
class HeapBesideAMap {
 public:
  explicit HeapBesideAMap(uint64_t seed) : random_(seed), requests_(60) {}

  void step() {
    Request& request = requests_[random_.below(requests_.size())];
    auto known = keys_.find(&request);
    if (random_.chance(10) && !model_.empty()) {
      remove(*model_.begin()->second);
    } else if (known != keys_.end()) {
      remove(request);
    } else {
      // Few different deadlines, so that many are equal.
      Key key{random_.between(-3, 12), arrivals_++};
      heap_.add(request, key.first);
      model_.emplace(key, &request);
      keys_.emplace(&request, key);
    }
    ASSERT_EQ(heap_.size(), model_.size());
    ASSERT_EQ(heap_.first_ns(), model_.empty() ? DeadlineHeap::kNever : model_.begin()->first.first);
    if (model_.empty()) return;
    ASSERT_EQ(&heap_.first(), model_.begin()->second);
  }

 private:
  using Key = std::pair<int64_t, uint64_t>;
  void remove(Request& request) {
    heap_.remove(request);
    model_.erase(keys_.at(&request));
    keys_.erase(&request);
  }

  test::Random random_;
  std::vector<Request> requests_;
  DeadlineHeap heap_;
  std::map<Key, Request*> model_;
  std::map<Request*, Key> keys_;
  uint64_t arrivals_ = 0;
};

TEST(DeadlineHeap, BehavesAsAnOrderedMapDoes) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    HeapBesideAMap both(seed);
    for (int step = 0; step < 5'000 && !::testing::Test::HasFatalFailure(); ++step) both.step();
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace atl::schedulers
