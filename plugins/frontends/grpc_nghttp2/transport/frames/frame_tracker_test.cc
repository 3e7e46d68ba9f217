#include "frontends/grpc_nghttp2/transport/frames/frame_tracker.h"

#include <gtest/gtest.h>

#include <string>

#include "frontends/grpc_nghttp2/transport/testing/raw_client.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

class FrameTrackerTest : public ::testing::Test {
 protected:
  void pass(std::string_view bytes) {
    tracker_.pass({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  static std::string data(int32_t stream, size_t bytes, uint8_t flags = 0) {
    return RawClient::frame(NGHTTP2_DATA, flags, stream, std::string(bytes, 'x'));
  }
  void preface() { pass(std::string(24, 'P')); }

  FrameTracker tracker_;
};

TEST_F(FrameTrackerTest, KnowsWhereFramesBeginHoweverTheyAreCut) {
  const std::string text =
      std::string(24, 'P') + data(1, 3) + RawClient::frame(NGHTTP2_PING, 0, 0, "12345678") + data(1, 2);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    tracker_ = {};
    pass(text.substr(0, cut));
    EXPECT_EQ(tracker_.at_head(), cut == 24 || cut == 36 || cut == 53 || cut == text.size()) << cut;
    pass(text.substr(cut));
    EXPECT_TRUE(tracker_.at_head());
    EXPECT_EQ(tracker_.last_stream(), 1);
  }
}

TEST_F(FrameTrackerTest, TellsTheRestOfData) {
  preface();
  EXPECT_EQ(tracker_.rest().bytes, 0u);
  pass(data(7, 100).substr(0, 9 + 30));
  EXPECT_EQ(tracker_.rest().stream, 7);
  EXPECT_EQ(tracker_.rest().bytes, 70u);
  pass(std::string(70, 'x'));
  EXPECT_EQ(tracker_.rest().bytes, 0u);
  pass(data(7, 100, NGHTTP2_FLAG_PADDED).substr(0, 9 + 30));
  EXPECT_EQ(tracker_.rest().bytes, 0u);  // not all of it is the message's
  EXPECT_FALSE(tracker_.at_head());
}

TEST_F(FrameTrackerTest, FindsEndsOfStreamsAndData) {
  preface();
  const std::string text =
      RawClient::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 9, std::string(41, 'h')) +
      data(1, 91, NGHTTP2_FLAG_END_STREAM) + data(3, 41) + data(3, 41, NGHTTP2_FLAG_END_STREAM) +
      data(5, 91, NGHTTP2_FLAG_PADDED);
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  EXPECT_EQ(tracker_.streams_end(1, bytes), 150u);
  EXPECT_EQ(tracker_.streams_end(2, bytes), 250u);
  EXPECT_EQ(tracker_.streams_end(3, bytes), 0u);
  EXPECT_EQ(tracker_.streams_end(2, bytes.first(250)), 0u);  // it is the end of all
  EXPECT_EQ(tracker_.first_data(bytes).stream, 1);
  EXPECT_EQ(tracker_.first_data(bytes).begin, 59u);
  EXPECT_EQ(tracker_.first_data(bytes.first(50)).stream, 0);
  pass(text.substr(0, 100));
  EXPECT_EQ(tracker_.streams_end(1, bytes.subspan(100)),
            150u);  // that of the frame that has begun is not known
  EXPECT_EQ(tracker_.first_data(bytes.subspan(100)).stream, 1);
  EXPECT_EQ(tracker_.first_data(bytes.subspan(100)).begin, 0u);
  pass(text.substr(100, 155));
  EXPECT_EQ(tracker_.streams_end(1, bytes.subspan(255)), 0u);  // not known within a head
  EXPECT_EQ(tracker_.first_data(bytes.subspan(255)).stream, 0);
}

TEST_F(FrameTrackerTest, ForetellsOneAfterTheOther) {
  preface();
  EXPECT_EQ(tracker_.after(1).stream, 0);
  pass(data(1, 50));
  EXPECT_EQ(tracker_.after(1).stream, 0);
  pass(data(1, 40));
  EXPECT_EQ(tracker_.after(1).stream, 1);
  EXPECT_EQ(tracker_.after(1).bytes, 40u);
}

TEST_F(FrameTrackerTest, ForetellsTurns) {
  preface();
  for (int turn = 0; turn < 2; ++turn) {
    for (const int32_t stream : {1, 3, 5}) pass(data(stream, static_cast<size_t>(stream) * 10));
  }
  EXPECT_EQ(tracker_.after(1).stream, 3);
  EXPECT_EQ(tracker_.after(3).bytes, 50u);
  EXPECT_EQ(tracker_.after(5).stream, 1);
}

TEST_F(FrameTrackerTest, ForgetsTheOldest) {
  preface();
  for (int32_t stream = 1; stream < 100; stream += 2) pass(data(stream, 10));
  EXPECT_EQ(tracker_.after(1).stream, 0);
  EXPECT_EQ(tracker_.after(97).stream, 99);
}

TEST_F(FrameTrackerTest, ComparesHeads) {
  const auto head_of = [](const std::string& frame) {
    FrameTracker::Head head;
    std::copy_n(frame.begin(), head.size(), head.begin());
    return head;
  };
  EXPECT_TRUE(FrameTracker::is_of(head_of(data(3, 70'000)), {3, 70'000}));
  EXPECT_TRUE(FrameTracker::is_of(head_of(data(3, 7, NGHTTP2_FLAG_END_STREAM)), {3, 7}));
  EXPECT_FALSE(FrameTracker::is_of(head_of(data(3, 7, NGHTTP2_FLAG_PADDED)), {3, 7}));
  EXPECT_FALSE(FrameTracker::is_of(head_of(data(5, 7)), {3, 7}));
  EXPECT_FALSE(FrameTracker::is_of(head_of(data(3, 8)), {3, 7}));
  EXPECT_FALSE(FrameTracker::is_of(head_of(RawClient::frame(NGHTTP2_HEADERS, 0, 3, "1234567")), {3, 7}));
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
