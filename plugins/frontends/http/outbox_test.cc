#include "frontends/http/outbox.h"

#include <gtest/gtest.h>

#include <thread>

namespace atl::frontends::http {
namespace {

TEST(Outbox, TheFirstOfSeveralPushesTells) {
  Outbox outbox;
  EXPECT_TRUE(outbox.push("a", 0));
  EXPECT_FALSE(outbox.push("b", 0));
  EXPECT_FALSE(outbox.push({}, Outbox::kEnd));
  const Outbox::Content content = outbox.take();
  EXPECT_EQ(content.pieces, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(content.marks, Outbox::kEnd);
}

TEST(Outbox, WhatIsPushedBetweenTakeAndFinishIsToldByFinish) {
  Outbox outbox;
  EXPECT_TRUE(outbox.push("a", 0));
  EXPECT_EQ(outbox.take().marks, 0u);
  EXPECT_FALSE(outbox.push("b", 0));
  EXPECT_TRUE(outbox.finish(0));
  EXPECT_FALSE(outbox.push("c", Outbox::kCut)) << "it is told already";
  EXPECT_EQ(outbox.take().pieces.size(), 2u);
  EXPECT_FALSE(outbox.finish(Outbox::kCut));
  EXPECT_TRUE(outbox.push("d", 0));
  // Only a mark.
  EXPECT_EQ(outbox.take().marks, Outbox::kCut);
  EXPECT_FALSE(outbox.push({}, Outbox::kEnd));
  EXPECT_TRUE(outbox.finish(Outbox::kCut));
}

TEST(Outbox, BytesWaitUntilTheyAreWritten) {
  Outbox outbox;
  EXPECT_TRUE(outbox.has_room(100, 10)) << "nothing else waits";
  (void)outbox.push("12345", 0);
  EXPECT_TRUE(outbox.has_room(5, 10));
  EXPECT_FALSE(outbox.has_room(6, 10));
  (void)outbox.take();
  EXPECT_EQ(outbox.waiting_bytes(), 5u);
  outbox.written(5);
  EXPECT_TRUE(outbox.has_room(100, 10));
}

TEST(Outbox, NothingIsLostBetweenThreads) {
  constexpr int kPieces = 20'000;
  Outbox outbox;
  std::atomic<int> told{0};
  std::thread pushing([&] {
    for (int i = 0; i < kPieces; ++i) told += outbox.push("x", i + 1 == kPieces ? Outbox::kEnd : 0u);
  });
  size_t taken = 0;
  uint32_t marks = 0;
  while ((marks & Outbox::kEnd) == 0) {
    while (told == 0) std::this_thread::yield();
    --told;
    Outbox::Content content = outbox.take();
    taken += content.pieces.size();
    marks = content.marks;
    told += outbox.finish(marks);
    EXPECT_LE(told, 1);
  }
  pushing.join();
  EXPECT_EQ(taken, static_cast<size_t>(kPieces));
}

}  // namespace
}  // namespace atl::frontends::http
