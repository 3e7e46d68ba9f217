#include "backends/common/batch_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/testing/recording_sink.h"

namespace atl::backends {
namespace {

using testing::ElementsAre;

/// Four requests of batch sizes 1 to 4; those of even and those of odd sizes can be joined.
class BatchGroupsTest : public ::testing::Test {
 protected:
  BatchGroupsTest() {
    std::vector<Request*> raw;
    for (uint32_t i = 0; i < 4; ++i) {
      requests_[i].mark_accepted();
      requests_[i]->batch_size = i + 1;
      raw.push_back(&requests_[i].request());
    }
    Batch batch;
    batch.requests = raw;
    responder_.begin(batch);
    groups_.fill(responder_, [](const Request&) { return Status(); });
  }
  ~BatchGroupsTest() override { responder_.finish({}); }
  bool take() {
    return groups_.take(
        responder_, [](const Request& a, const Request& b) { return a.batch_size % 2 == b.batch_size % 2; });
  }
  const std::vector<uint32_t>& indices() const { return groups_.current().indices; }

  test::TestRequest requests_[4];
  BatchResponder responder_{nullptr};
  BatchGroups groups_;
};

TEST_F(BatchGroupsTest, WhatCanBeJoinedIsOneGroup) {
  ASSERT_TRUE(take());
  EXPECT_THAT(indices(), ElementsAre(0, 2));
  EXPECT_THAT(groups_.current().members, ElementsAre(&requests_[0].request(), &requests_[2].request()));
  EXPECT_EQ(groups_.current().weight, 4u);
  ASSERT_TRUE(take());
  EXPECT_THAT(indices(), ElementsAre(1, 3));
  EXPECT_EQ(groups_.current().weight, 6u);
  EXPECT_FALSE(take());
}

TEST_F(BatchGroupsTest, WhatDoesNotPassFailsAndDoesNotWait) {
  groups_.fill(responder_, [](const Request& request) {
    return request.batch_size == 3 ? invalid_argument("three") : Status();
  });
  EXPECT_TRUE(responder_.failed(2));
  ASSERT_TRUE(take());
  EXPECT_THAT(indices(), ElementsAre(0));
  ASSERT_TRUE(take());
  EXPECT_THAT(indices(), ElementsAre(1, 3));
  EXPECT_FALSE(take());
}

TEST_F(BatchGroupsTest, AGroupThatIsSplitRunsOneByOneBeforeTheOthers) {
  ASSERT_TRUE(take());
  groups_.split();
  for (const uint32_t alone : {0u, 2u}) {
    ASSERT_TRUE(take());
    EXPECT_THAT(indices(), ElementsAre(alone));
  }
  ASSERT_TRUE(take());
  EXPECT_THAT(indices(), ElementsAre(1, 3)) << "the others are joined again";
  EXPECT_FALSE(take());
}

TEST_F(BatchGroupsTest, ANewBatchHasNothingOfTheOneBefore) {
  ASSERT_TRUE(take());
  groups_.split();
  groups_.fill(responder_, [](const Request& request) {
    return request.batch_size % 2 == 1 ? Status() : invalid_argument("even");
  });
  ASSERT_TRUE(take());
  EXPECT_THAT(indices(), ElementsAre(0, 2)) << "joined, though the batch before was split";
  EXPECT_FALSE(take());
}

}  // namespace
}  // namespace atl::backends
