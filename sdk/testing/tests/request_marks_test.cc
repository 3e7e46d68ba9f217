/// What frontends mark for observers.
#include "atoll/request/request_marks.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(RequestMarks, AStreamsNumberLeavesTheFlagsAlone) {
  Request request;
  EXPECT_EQ(stream_number(request), 0U);
  request.call_flags = kHoldsResources | kCallerHoldsResources | kIsStep | kShadow | 1U << 31;
  const uint32_t before = request.call_flags;
  mark_stream(request, kStreamNumberMax);
  EXPECT_EQ(stream_number(request), kStreamNumberMax);
  EXPECT_EQ(request.call_flags & before, before);
  EXPECT_EQ(request.call_flags & (1U << 30), 0U);
  request.reset();
  EXPECT_EQ(stream_number(request), 0U);
}

TEST(RequestMarks, StreamsHaveNumbers) {
  const uint32_t first = next_stream_number(), second = next_stream_number();
  EXPECT_NE(first, 0U);
  EXPECT_NE(second, 0U);
  EXPECT_NE(first, second);
  EXPECT_LE(first, kStreamNumberMax);
}

TEST(RequestMarks, AForwardedHeaderIsKnown) {
  Parameter parameter;
  EXPECT_FALSE(is_forwarded_header(parameter));
  mark_forwarded_header(parameter);
  EXPECT_TRUE(is_forwarded_header(parameter));
}

}  // namespace
}  // namespace atl
