#include "launchers/kubernetes/api_refusal.h"

#include <gtest/gtest.h>

#include "atoll/core/clock.h"

namespace atl::launchers {
namespace {

ApiRefusal refusal(int status, const std::string& message, const std::string& retry_after = {}) {
  return read_refusal({status, cat(R"({"kind":"Status","message":")", message, "\"}"), {retry_after}});
}

TEST(ApiRefusal, SaysWhetherThereIsRoomLaterOrNever) {
  const ApiRefusal quota = refusal(403, "exceeded quota: gpus");
  EXPECT_EQ(quota.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(quota.status.message(), "the namespace has no quota left: HTTP 403: exceeded quota: gpus");
  EXPECT_FALSE(quota.passes);
  EXPECT_EQ(refusal(403, "User cannot create pods").status.code(), Code::kInvalidArgument);
  for (int status : {400, 404, 413, 422}) {
    EXPECT_EQ(refusal(status, "m").status.code(), Code::kInvalidArgument) << status;
    EXPECT_FALSE(refusal(status, "m").passes);
  }
  for (int status : {401, 408, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(refusal(status, "m").status.code(), Code::kUnavailable) << status;
    EXPECT_TRUE(refusal(status, "m").passes) << status;
  }
}

TEST(ApiRefusal, TextsOfOthersAreKeptShort) {
  const ApiRefusal page = read_refusal({502, std::string(100'000, '\xff'), {}});
  EXPECT_LT(page.status.message().size(), 4'000u);
  EXPECT_EQ(read_refusal({503, "", {}}).status.message(), "the cluster does not answer: HTTP 503");
}

TEST(ApiRefusal, HasTheTimeThatTheClusterAsksFor) {
  EXPECT_EQ(refusal(429, "m", "7").retry_after_ns, 7 * kNsPerSecond);
  EXPECT_EQ(refusal(429, "m", "999999999999").retry_after_ns, 60 * kNsPerSecond);
  for (const char* text : {"", "-1", "soon", "99999999999999999999"})
    EXPECT_EQ(refusal(429, "m", text).retry_after_ns, 0) << text;
}

TEST(RetryPause, GrowsToABoundAndIsNotShorterThanAskedFor) {
  EXPECT_EQ(retry_pause_ns(1, 0, 0), 500 * kNsPerMs);
  EXPECT_EQ(retry_pause_ns(2, 0, 0), kNsPerSecond);
  for (uint64_t random : {uint64_t{1}, uint64_t{12345678901}, UINT64_MAX}) {
    const int64_t pause = retry_pause_ns(1'000'000, 0, random);
    EXPECT_LE(pause, 30 * kNsPerSecond);
    EXPECT_GT(pause, 22 * kNsPerSecond);
  }
  EXPECT_EQ(retry_pause_ns(1, 9 * kNsPerSecond, 5), 9 * kNsPerSecond);
  EXPECT_GT(retry_pause_ns(0, 0, 0), 0);
}

}  // namespace
}  // namespace atl::launchers
