#include "frontends/grpc_nghttp2/transport/frames/frame_plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "frontends/grpc_nghttp2/transport/testing/raw_client.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

constexpr uint32_t kFrameBytes = 5000;

/// Messages of so many bytes, and a client whose bytes a plan has placed.
class FramePlanTest : public ::testing::Test {
 protected:
  struct Target {
    std::vector<uint8_t> memory;
    size_t at = 0;
    size_t capacity = 0;
    MessageRoom room() { return {{memory.data() + at, capacity - at}, memory.size() - at}; }
  };

  FramePlanTest() { pass(std::string(24, 'P')); }

  void pass(std::string_view bytes) {
    tracker_.pass({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  static std::string data(int32_t stream, size_t bytes = kFrameBytes, char fill = 'x') {
    return RawClient::frame(NGHTTP2_DATA, 0, stream, std::string(bytes, fill));
  }
  void add_target(int32_t stream, size_t bytes, size_t capacity) {
    targets_[stream] = {std::vector<uint8_t>(bytes), 0, capacity};
  }
  bool make() {
    const bool made = plan_.make(tracker_, [this](int32_t stream) { return targets_[stream].room(); });
    if (made) plan_.add_rest(rest_);
    return made;
  }
  /// As if that had come.
  void read(std::string_view bytes) {
    ASSERT_LE(bytes.size(), plan_.bytes());
    const size_t count = bytes.size();
    for (const iovec& piece : plan_.pieces()) {
      const size_t size = std::min(piece.iov_len, bytes.size());
      std::memcpy(piece.iov_base, bytes.data(), size);
      bytes.remove_prefix(size);
    }
    used_.clear();
    rest_used_ = 0;
    EXPECT_TRUE(plan_.take(count, [this](std::span<const uint8_t> part, bool is_rest) {
      used_.append(reinterpret_cast<const char*>(part.data()), part.size());
      if (is_rest) rest_used_ = part.size();
      tracker_.pass(part);
      return true;
    }));
  }

  FrameTracker tracker_;
  FramePlan plan_;
  std::map<int32_t, Target> targets_;
  std::vector<uint8_t> rest_ = std::vector<uint8_t>(64 << 10);
  std::string used_;
  size_t rest_used_ = 0;
};

TEST_F(FramePlanTest, NothingIsKnownAtFirst) {
  add_target(1, 100'000, 100'000);
  EXPECT_FALSE(make());
  pass(data(1, 100).substr(0, 50));
  EXPECT_FALSE(make());  // too little
}

TEST_F(FramePlanTest, TheRestOfAFrameGoesToItsPlace) {
  add_target(1, 100'000, 100'000);
  pass(data(1).substr(0, 9));
  ASSERT_TRUE(make());
  ASSERT_EQ(plan_.pieces().size(), 2u);
  EXPECT_EQ(plan_.pieces()[0].iov_base, targets_[1].memory.data());
  EXPECT_EQ(plan_.pieces()[0].iov_len, kFrameBytes);
  read(std::string(kFrameBytes, 'y') + "more");
  EXPECT_EQ(targets_[1].memory[kFrameBytes - 1], 'y');
  EXPECT_EQ(rest_used_, 4u);
}

TEST_F(FramePlanTest, ForetellsMoreAsItIsRight) {
  add_target(1, 1'000'000, 1'000'000);
  pass(data(1));
  pass(data(1));
  for (const size_t frames : {1, 2, 4, 8, 16, 16}) {
    ASSERT_TRUE(make());
    EXPECT_EQ(plan_.pieces().size(), 2 * frames + 1);
    std::string bytes;
    for (size_t i = 0; i < frames; ++i) bytes += data(1, kFrameBytes, static_cast<char>('a' + i));
    read(bytes);
    EXPECT_EQ(used_, bytes);
    EXPECT_EQ(targets_[1].memory[targets_[1].at + (frames - 1) * kFrameBytes], 'a' + frames - 1);
    targets_[1].at += frames * kFrameBytes;
  }
}

TEST_F(FramePlanTest, WhatIsNotForetoldIsGivenAllTheSame) {
  const std::string other = RawClient::frame(NGHTTP2_PING, 0, 0, "12345678") + data(3) + data(1) + "cut";
  for (const std::string& bytes : {other, data(1) + other, data(1) + data(1, 4999), data(1) + "cu"}) {
    tracker_ = {};
    plan_ = {};
    pass(std::string(24, 'P'));
    add_target(1, 1'000'000, 1'000'000);
    for (int i = 0; i < 3; ++i) pass(data(1));
    ASSERT_TRUE(make());
    read(data(1));
    targets_[1].at += kFrameBytes;
    ASSERT_TRUE(make());
    read(bytes);
    EXPECT_EQ(used_, bytes);
  }
}

TEST_F(FramePlanTest, AWrongGuessMakesTheNextOneShort) {
  add_target(1, 1'000'000, 1'000'000);
  pass(data(1) + data(1));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(make());
    read("");
  }
  ASSERT_TRUE(make());
  EXPECT_EQ(plan_.pieces().size(), 2 * 8 + 1u);
  read(RawClient::frame(NGHTTP2_PING, 0, 0, "12345678"));
  ASSERT_TRUE(make());
  EXPECT_EQ(plan_.pieces().size(), 2 + 1u);
}

TEST_F(FramePlanTest, StreamsByTurns) {
  for (const int32_t stream : {1, 3}) add_target(stream, 1'000'000, 1'000'000);
  for (int i = 0; i < 2; ++i) pass(data(1) + data(3));
  ASSERT_TRUE(make());
  read("");
  ASSERT_TRUE(make());
  read("");
  ASSERT_TRUE(make());
  ASSERT_EQ(plan_.pieces().size(), 2 * 4 + 1u);
  EXPECT_EQ(plan_.pieces()[1].iov_base, targets_[1].memory.data());
  EXPECT_EQ(plan_.pieces()[3].iov_base, targets_[3].memory.data());
  EXPECT_EQ(plan_.pieces()[5].iov_base, targets_[1].memory.data() + kFrameBytes);
}

TEST_F(FramePlanTest, EndsWithTheMessageAndWithItsMemory) {
  pass(data(1) + data(1));
  add_target(1, kFrameBytes + 100, kFrameBytes + 100);
  ASSERT_TRUE(make());
  read("");
  ASSERT_TRUE(make());  // of two frames the second is short
  EXPECT_EQ(plan_.pieces().size(), 2 * 2 + 1u);
  EXPECT_EQ(plan_.pieces()[3].iov_len, 100u);
  const std::string end = data(1, kFrameBytes, 'y') + data(1, 100, 'z');
  read(end);
  EXPECT_EQ(used_, end);
  EXPECT_EQ(targets_[1].memory.back(), 'z');

  pass(data(1));
  add_target(1, 3 * kFrameBytes, kFrameBytes + 100);
  ASSERT_TRUE(make());  // of the second frame a part has room, the other goes behind
  EXPECT_EQ(plan_.pieces()[3].iov_len, 100u);
  const std::string two = data(1) + data(1, kFrameBytes, 'y');
  read(two);
  EXPECT_EQ(used_, two);
  EXPECT_EQ(rest_used_, kFrameBytes - 100);
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
