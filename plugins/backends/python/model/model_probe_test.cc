#include "backends/python/model/model_probe.h"

#include <gtest/gtest.h>

namespace atl::python {
namespace {

constexpr int64_t kSecond = ModelProbe::kFreshNs;

TEST(ModelProbe, AModelWithoutAnOpinionIsReady) {
  ModelProbe probe;
  bool asks = true;
  EXPECT_TRUE(probe.is_ready(kSecond, asks));
  EXPECT_FALSE(asks);
}

TEST(ModelProbe, OneQuestionAtATimeAndAnswersLastASecond) {
  ModelProbe probe;
  probe.enable();
  bool asks = false;
  EXPECT_TRUE(probe.is_ready(10 * kSecond, asks)) << "nothing is known yet";
  EXPECT_TRUE(asks);
  EXPECT_TRUE(probe.is_ready(10 * kSecond + 1, asks));
  EXPECT_FALSE(asks) << "the question is open";
  probe.answer(false, 11 * kSecond);
  EXPECT_FALSE(probe.is_ready(12 * kSecond - 1, asks));
  EXPECT_FALSE(asks);
  EXPECT_FALSE(probe.is_ready(12 * kSecond, asks)) << "the last answer counts until the next";
  EXPECT_TRUE(asks);
  probe.answer(true, 12 * kSecond);
  EXPECT_TRUE(probe.is_ready(12 * kSecond, asks));
}

TEST(ModelProbe, NoAnswerIsNo) {
  ModelProbe probe;
  probe.enable();
  bool asks = false;
  EXPECT_TRUE(probe.is_ready(kSecond, asks));
  EXPECT_TRUE(probe.is_ready(6 * kSecond - 1, asks));
  EXPECT_FALSE(probe.is_ready(6 * kSecond, asks));
  EXPECT_FALSE(asks);
}

}  // namespace
}  // namespace atl::python
