// Who runs what is posted, in which order, and how much may wait.
#include "frontends/common/call/large_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>

#include "atoll/testing/thread_executor.h"

namespace atl::frontends {
namespace {

TEST(LargeWork, OneThreadThatIsBusyHoldsNobodyUp) {
  test::ThreadExecutors executors;
  LargeWork work;
  ASSERT_TRUE(work.open(executors, "large", 2).ok());
  std::binary_semaphore release(0);
  std::binary_semaphore held(0);
  work.post(make_task([&] {
    held.release();
    release.acquire();
  }));
  held.acquire();
  std::binary_semaphore done(0);
  std::vector<int> order;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(work.try_post(make_task([&order, &done, i] {
                      order.push_back(i);
                      if (i == 9) done.release();
                    }))
                    .ok());
  }
  done.acquire();  // the other thread did them all
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  release.release();
}

TEST(LargeWork, WhatWaitsIsBoundedAndDroppedAtTheEnd) {
  test::ThreadExecutors executors;
  std::atomic<int> ran{0};
  auto alive = std::make_shared<int>(0);
  {
    std::binary_semaphore release(0);
    std::binary_semaphore held(0);
    LargeWork work;
    ASSERT_TRUE(work.open(executors, "large", 1).ok());
    work.post(make_task([&] {
      held.release();
      release.acquire();
    }));
    held.acquire();
    for (size_t i = 0; i < LargeWork::kMostWaiting; ++i) {
      ASSERT_TRUE(work.try_post(make_task([&ran, alive] { ++ran; })).ok());
    }
    Task refused = make_task([&ran, alive] { ++ran; });
    const Status status = work.try_post(refused);
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_EQ(status.message(), "as many large requests wait to be read as may: 256; try again later");
    refused.drop(refused.argument);
    work.post(make_task([&ran, alive] { ++ran; }));
    release.release();
  }
  EXPECT_EQ(alive.use_count(), 1) << "what was not run was dropped";
  EXPECT_LE(ran.load(), static_cast<int>(LargeWork::kMostWaiting) + 1);
}

}  // namespace
}  // namespace atl::frontends
