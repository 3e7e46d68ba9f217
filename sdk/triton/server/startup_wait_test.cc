#include "server/startup_wait.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "atoll/testing/fake_catalog.h"

namespace atl::triton {
namespace {

using Index = std::vector<ModelIndexEntry>;

const ModelIndexEntry kGood = {"good", "1", "READY", ""};
const ModelIndexEntry kBad = {"bad", "1", "UNAVAILABLE", "there is no such backend"};
const ModelIndexEntry kRetried = {"bad", "1", "LOADING", ""};
const ModelIndexEntry kUnloaded = {"other", "", "", ""};

/// Of a server whose index is one after the other, the last one for ever.
class StartupWait : public ::testing::Test, public Startup {
 protected:
  Status wait(std::vector<Index> indexes, bool all = true) {
    asked_ = 0;
    catalog_.list = [this, indexes = std::move(indexes)] {
      return Result<Index>(indexes[std::min(asked_++, indexes.size() - 1)]);
    };
    return wait_for_startup(*this, catalog_, all);
  }
  bool complete() const noexcept override { return questions_++ >= questions_before_complete_; }

  test::FakeModelCatalog catalog_;
  size_t asked_ = 0;
  size_t questions_before_complete_ = 0;
  mutable size_t questions_ = 0;
};

constexpr const char* kFailure = "failed to load all models\nbad 1: there is no such backend";

TEST_F(StartupWait, AModelThatFailedFailsTheStartUnlessItMay) {
  EXPECT_TRUE(wait({{kGood, kUnloaded}}).ok());
  EXPECT_EQ(wait({{kGood, kBad}}).message(), kFailure);
  EXPECT_TRUE(wait({{kGood, kBad}}, false).ok());
}

TEST_F(StartupWait, AModelThatIsTriedAgainHasNotSucceededYet) {
  EXPECT_EQ(wait({{kGood, kRetried}, {kGood, kRetried}, {kGood, kBad}}).message(), kFailure);
  EXPECT_EQ(asked_, 3u);
  EXPECT_TRUE(wait({{kGood, kRetried}, {kGood, {"bad", "1", "READY", ""}}}).ok());
}

TEST_F(StartupWait, AnIndexThatCanNotBeReadEndsIt) {
  questions_before_complete_ = 1'000'000;
  catalog_.list = [] { return Result<Index>(unavailable("no such folder")); };
  const Status failure = wait_for_startup(*this, catalog_, false);
  EXPECT_EQ(failure.code(), Code::kInternal);
  EXPECT_EQ(failure.message(), "no such folder");
}

TEST_F(StartupWait, ItLastsUntilAllIsDecided) {
  questions_before_complete_ = 3;
  EXPECT_TRUE(wait({{kRetried}, {kGood}}).ok());
  EXPECT_EQ(questions_, 4u);
}

}  // namespace
}  // namespace atl::triton
