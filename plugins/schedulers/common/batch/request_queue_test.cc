#include "schedulers/common/batch/request_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "atoll/testing/random.h"

namespace atl::schedulers {
namespace {

TEST(RequestQueue, IsFirstInFirstOut) {
  Request a, b, c;
  RequestQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.pop_front(), nullptr);
  queue.push_back(a);
  queue.push_back(b);
  queue.push_back(c);
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(queue.pop_front(), &a);
  EXPECT_EQ(queue.pop_front(), &b);
  EXPECT_EQ(queue.pop_front(), &c);
  EXPECT_EQ(queue.pop_front(), nullptr);
}

TEST(RequestQueue, KnowsItsOwn) {
  Request a;
  RequestQueue one, other;
  EXPECT_FALSE(one.contains(a));
  one.push_back(a);
  EXPECT_TRUE(one.contains(a));
  EXPECT_FALSE(other.contains(a));
  one.remove(a);
  EXPECT_FALSE(one.contains(a));
  other.push_back(a);
  EXPECT_FALSE(one.contains(a));
  EXPECT_TRUE(other.contains(a));
}

TEST(RequestQueue, RemovesFrontMiddleAndBack) {
  Request items[5];
  for (int removed : {0, 2, 4}) {
    RequestQueue queue;
    for (Request& item : items) queue.push_back(item);
    queue.remove(items[removed]);
    for (int i = 0; i < 5; ++i) {
      if (i == removed) continue;
      EXPECT_EQ(queue.pop_front(), &items[i]);
    }
    EXPECT_TRUE(queue.empty());
    queue.push_back(items[0]);  // the ends are sound
    EXPECT_EQ(queue.pop_front(), &items[0]);
  }
}

TEST(RequestQueue, BehavesAsADequeDoes) {
  test::Random random(7);
  std::vector<Request> items(50);
  RequestQueue queue;
  std::deque<Request*> model;
  for (int step = 0; step < 20'000; ++step) {
    Request& item = items[random.below(items.size())];
    auto found = std::find(model.begin(), model.end(), &item);
    ASSERT_EQ(queue.contains(item), found != model.end());
    if (found == model.end() && random.chance(30)) {
      queue.push_front(item);
      model.push_front(&item);
    } else if (found == model.end()) {
      queue.push_back(item);
      model.push_back(&item);
    } else if (random.chance(50)) {
      queue.remove(item);
      model.erase(found);
    } else {
      ASSERT_EQ(queue.pop_front(), model.front());
      model.pop_front();
    }
    ASSERT_EQ(queue.size(), model.size());
    ASSERT_EQ(queue.front(), model.empty() ? nullptr : model.front());
  }
}

}  // namespace
}  // namespace atl::schedulers
