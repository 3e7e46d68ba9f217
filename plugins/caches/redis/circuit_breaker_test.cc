#include "caches/redis/circuit_breaker.h"

#include <gtest/gtest.h>

namespace atl::caches {
namespace {

using State = CircuitBreaker::State;

TEST(CircuitBreakerTest, OpensAfterFailuresInARow) {
  CircuitBreaker breaker(3, 100);
  EXPECT_FALSE(breaker.report_failure(1));
  EXPECT_FALSE(breaker.report_failure(2));
  breaker.report_success();
  EXPECT_FALSE(breaker.report_failure(3));
  EXPECT_FALSE(breaker.report_failure(4));
  EXPECT_EQ(breaker.state(), State::kClosed);
  EXPECT_TRUE(breaker.report_failure(5));
  EXPECT_EQ(breaker.state(), State::kOpen);
  EXPECT_EQ(breaker.retry_at_ns(), 105);
  EXPECT_FALSE(breaker.report_failure(6)) << "it is open already";
  EXPECT_EQ(breaker.retry_at_ns(), 105);
}

TEST(CircuitBreakerTest, AGraveFailureIsEnough) {
  CircuitBreaker breaker(3, 100);
  breaker.report_success();
  EXPECT_TRUE(breaker.report_failure(5, true));
  EXPECT_EQ(breaker.retry_at_ns(), 105);
}

TEST(CircuitBreakerTest, OneFailedAttemptOpensItForLonger) {
  CircuitBreaker breaker(2, 100);
  breaker.report_failure(0);
  breaker.report_failure(0);
  int64_t wait = 100;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(breaker.retry_at_ns(), 1000 * i + wait) << i;
    breaker.begin_attempt();
    EXPECT_EQ(breaker.state(), State::kHalfOpen);
    EXPECT_TRUE(breaker.report_failure(1000 * (i + 1)));
    wait = std::min<int64_t>(wait * 2, 3200);
  }
}

TEST(CircuitBreakerTest, OnlyAnAnswerMakesTheNextWaitShort) {
  CircuitBreaker breaker(1, 100);
  breaker.report_failure(0);
  breaker.begin_attempt();
  breaker.close();
  EXPECT_EQ(breaker.state(), State::kClosed);
  EXPECT_TRUE(breaker.report_failure(1000));
  EXPECT_EQ(breaker.retry_at_ns(), 1200) << "it took the connection and did not answer";
  breaker.begin_attempt();
  breaker.close();
  breaker.report_success();
  EXPECT_TRUE(breaker.report_failure(5000));
  EXPECT_EQ(breaker.retry_at_ns(), 5100);
}

}  // namespace
}  // namespace atl::caches
