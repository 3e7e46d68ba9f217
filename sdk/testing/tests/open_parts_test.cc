#include "atoll/core/open_parts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace atl {
namespace {

TEST(OpenParts, TheLastOneIsToldOnceInAnyOrder) {
  for (const auto& order : {std::vector<uint32_t>{1, 2, 4}, {4, 2, 1}, {2, 4, 1}}) {
    OpenParts parts(7);
    EXPECT_FALSE(parts.done(order[0]));
    EXPECT_FALSE(parts.done(order[0])) << "done before";
    EXPECT_FALSE(parts.done(order[1]));
    EXPECT_FALSE(parts.done(8)) << "never open";
    EXPECT_TRUE(parts.done(order[2]));
    EXPECT_FALSE(parts.done(order[2]));
    EXPECT_FALSE(parts.done(7));
  }
}

TEST(OpenParts, SeveralAtOnce) {
  OpenParts parts(7);
  EXPECT_FALSE(parts.done(1 | 2));
  EXPECT_TRUE(parts.done(2 | 4)) << "one of them was open";
}

TEST(OpenParts, IsOpenedAgainForTheNextUse) {
  OpenParts parts;
  EXPECT_FALSE(parts.done(1));
  for (int use = 0; use < 3; ++use) {
    parts.open(3);
    EXPECT_FALSE(parts.done(2));
    EXPECT_TRUE(parts.done(1));
  }
}

TEST(OpenParts, OfManyThreadsOneIsTheLast) {
  for (int round = 0; round < 200; ++round) {
    OpenParts parts(15);
    std::atomic<int> last{0};
    int written[4] = {};
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        written[i] = 1;
        if (!parts.done(1U << i)) return;
        ++last;
        for (int value : written) EXPECT_EQ(value, 1) << "what the others did is seen";
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(last, 1);
  }
}

}  // namespace
}  // namespace atl
