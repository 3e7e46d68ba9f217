#include "frontends/grpc_nghttp2/transport/session/flood_guard.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <vector>

#include "atoll/core/clock.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

constexpr uint32_t kRate = 10;
constexpr int kBurst = FloodGuard::kBurstSeconds * kRate;
constexpr uint64_t kMostHeaders = 1000;

class FloodGuardTest : public ::testing::Test {
 protected:
  void see(uint8_t type, uint32_t length, int times = 1, uint8_t flags = 0, size_t open_calls = 0) {
    for (int i = 0; i < times; ++i) guard_.on_frame({length, type, flags}, open_calls);
  }
  std::optional<ClosedFor> verdict() { return guard_.verdict(now_); }

  int64_t now_ = 1234;
  FloodGuard guard_{kRate, kMostHeaders, now_};
};

TEST_F(FloodGuardTest, FramesForNothingHaveTheirRate) {
  see(NGHTTP2_WINDOW_UPDATE, 4, kBurst);
  EXPECT_FALSE(verdict());
  now_ += kNsPerSecond;
  see(NGHTTP2_WINDOW_UPDATE, 4, kRate);
  EXPECT_FALSE(verdict());
  see(NGHTTP2_WINDOW_UPDATE, 4);
  EXPECT_EQ(verdict(), ClosedFor::kOverheadFrames);
}

TEST_F(FloodGuardTest, WhatTimeGivesIsBounded) {
  now_ += 1'000'000 * kNsPerSecond;
  EXPECT_FALSE(verdict());
  see(NGHTTP2_PRIORITY, 5, kBurst);
  EXPECT_FALSE(verdict());
  see(NGHTTP2_PRIORITY, 5);
  EXPECT_EQ(verdict(), ClosedFor::kOverheadFrames);
}

TEST_F(FloodGuardTest, FractionsOfAFrameAreNotLost) {
  see(NGHTTP2_PING, 8, kBurst);
  for (int i = 0; i < 20; ++i) {
    now_ += kNsPerSecond / kRate / 2;
    EXPECT_FALSE(verdict());
  }
  see(NGHTTP2_PING, 8, 10);
  EXPECT_FALSE(verdict());
  see(NGHTTP2_PING, 8);
  EXPECT_TRUE(verdict());
}

TEST_F(FloodGuardTest, UseGivesRoomForMore) {
  see(NGHTTP2_PING, 8, kBurst);
  guard_.on_call();
  guard_.on_message();
  guard_.on_sent_data(false);
  guard_.on_sent_data(true);
  see(NGHTTP2_PING, 8,
      FloodGuard::kFramesOfCall + FloodGuard::kFramesOfMessage + FloodGuard::kFramesOfSentData);
  EXPECT_FALSE(verdict());
  see(NGHTTP2_PING, 8);
  EXPECT_TRUE(verdict());
}

TEST_F(FloodGuardTest, OnlySoMuchIsSavedUp) {
  for (int i = 0; i < 1'000'000; ++i) guard_.on_call();
  see(NGHTTP2_PING, 8, FloodGuard::kMostSaved + FloodGuard::kFramesOfCall + 1);
  EXPECT_TRUE(verdict());
}

TEST_F(FloodGuardTest, DataIsFreeUnlessItIsTiny) {
  see(NGHTTP2_DATA, FloodGuard::kTinyBytes, 10 * kBurst);
  see(NGHTTP2_DATA, 0, 10 * kBurst, NGHTTP2_FLAG_END_STREAM);
  EXPECT_FALSE(verdict());
  see(NGHTTP2_DATA, FloodGuard::kTinyBytes - 1, kBurst);
  EXPECT_FALSE(verdict());
  see(NGHTTP2_DATA, 0);
  EXPECT_TRUE(verdict());
}

TEST_F(FloodGuardTest, SettingsCostWhatTheyMayChange) {
  see(NGHTTP2_SETTINGS, 6, 1, 0, kBurst - 1);
  EXPECT_FALSE(verdict());
  see(NGHTTP2_SETTINGS, 6);
  EXPECT_TRUE(verdict());
}

TEST_F(FloodGuardTest, AListOfHeadersIsOneWhateverFramesItIsIn) {
  see(NGHTTP2_HEADERS, 600);
  see(NGHTTP2_CONTINUATION, 400);
  see(NGHTTP2_HEADERS, 1000);
  EXPECT_FALSE(verdict());
  see(NGHTTP2_CONTINUATION, 1);
  EXPECT_EQ(verdict(), ClosedFor::kMetadata);
}

TEST_F(FloodGuardTest, OtherFramesAreSmall) {
  see(NGHTTP2_DATA, 1 << 24);
  see(NGHTTP2_GOAWAY, FloodGuard::kMostControlBytes);
  EXPECT_FALSE(verdict());
  see(200, FloodGuard::kMostControlBytes + 1);
  EXPECT_EQ(verdict(), ClosedFor::kFrameSize);
}

TEST(FrameScannerTest, FindsTheSameHeadsHoweverTheBytesAreCut) {
  std::vector<uint8_t> bytes(24, 'P');
  const std::vector<FrameHead> frames = {{0, 4, 0}, {300, 1, 4}, {0, 4, 1}, {70'000, 0, 1}, {8, 6, 0}};
  for (const FrameHead& frame : frames) {
    const uint32_t length = frame.length;
    bytes.insert(bytes.end(), {static_cast<uint8_t>(length >> 16), static_cast<uint8_t>(length >> 8),
                               static_cast<uint8_t>(length), frame.type, frame.flags, 0, 0, 0, 1});
    bytes.resize(bytes.size() + length, 0xFF);
  }
  for (size_t step : {size_t{1}, size_t{7}, size_t{1000}, bytes.size()}) {
    FrameScanner scanner;
    std::vector<FrameHead> seen;
    for (size_t at = 0; at < bytes.size(); at += step) {
      const std::span<const uint8_t> all(bytes);
      scanner.scan(all.subspan(at, std::min(step, bytes.size() - at)),
                   [&](const FrameHead& frame) { seen.push_back(frame); });
    }
    ASSERT_EQ(seen.size(), frames.size()) << step;
    for (size_t i = 0; i < seen.size(); ++i) {
      EXPECT_EQ(seen[i].length, frames[i].length);
      EXPECT_EQ(seen[i].type, frames[i].type);
      EXPECT_EQ(seen[i].flags, frames[i].flags);
    }
    EXPECT_FALSE(scanner.is_inside());
    scanner.scan(std::span<const uint8_t>(bytes).last(1), [](const FrameHead&) {});
    EXPECT_TRUE(scanner.is_inside());
  }
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
