#include "frontends/common/call/buffer_pool.h"

#include <gtest/gtest.h>

#include <utility>

namespace atl::frontends {
namespace {

BodyBuffer buffer_of(size_t bytes) {
  BodyBuffer buffer;
  EXPECT_TRUE(buffer.reserve(bytes));
  return buffer;
}

TEST(BufferPoolTest, WhatNobodyTakesIsFreedInTheEnd) {
  BufferPool pool;
  for (int i = 0; i < 4; ++i) pool.give(buffer_of(1000));
  const uint64_t bytes = pool.kept_bytes();
  pool.free_unused();
  EXPECT_EQ(pool.kept_bytes(), bytes) << "they were given a moment ago";
  BodyBuffer one = pool.take(), two = pool.take();
  pool.give(std::move(one));
  pool.give(std::move(two));
  pool.free_unused();
  EXPECT_EQ(pool.kept_bytes(), bytes / 2) << "two were in use";
  pool.free_unused();
  EXPECT_EQ(pool.kept_bytes(), 0u);
  EXPECT_EQ(pool.take().capacity(), 0u);
}

TEST(BufferPoolTest, TheLastOneComesFirst) {
  BufferPool pool;
  EXPECT_EQ(pool.take().capacity(), 0u);
  pool.give(buffer_of(1000));
  pool.give(buffer_of(5000));
  EXPECT_GE(pool.take().capacity(), 5000u);
  EXPECT_GE(pool.take().capacity(), 1000u);
  EXPECT_EQ(pool.take().capacity(), 0u);
}

TEST(BufferPoolTest, WhatIsHeldIsNotGivenOut) {
  BufferPool pool;
  pool.give(buffer_of(1000));
  {
    BufferPool::Hold hold(pool);
    BodyBuffer large = buffer_of(8 << 20);  // more than the pool keeps
    uint8_t* const data = large.data();
    pool.give(std::move(large));
    {
      BufferPool::Hold inner(pool);
      pool.give(buffer_of(2000));
    }
    data[0] = 1;  // it is still there
    EXPECT_GE(pool.take().capacity(), 1000u);
    EXPECT_EQ(pool.take().capacity(), 0u);
  }
  EXPECT_GE(pool.take().capacity(), 2000u);
  EXPECT_EQ(pool.take().capacity(), 0u);
}

}  // namespace
}  // namespace atl::frontends
