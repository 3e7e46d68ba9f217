#include "models/catalog/serving/long_work.h"

#include <gtest/gtest.h>

#include "atoll/testing/fake_host.h"

namespace atl::models {
namespace {

class Notes final : public FaultNotes {
 public:
  const char*& note() noexcept override { return note_; }

 private:
  const char* note_ = nullptr;
};

class LongWorkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    work_.start([this](const LongWork::See& see) {
      see(this, execution_, [] { return std::string("model 'm' version 1, instance m_0_0"); });
    });
  }
  void TearDown() override { work_.stop(); }
  size_t lines(std::string_view text) { return host_.log().count(LogLevel::kWarning, text); }

  test::FakeHost host_{"models"};
  uint64_t execution_ = 0;
  Notes notes_;
  LongWork work_{host_};
};

TEST_F(LongWorkTest, TellsOfAnExecutionAtTenSecondsAndThenEveryMinute) {
  execution_ = 7;
  host_.run_for(10 * kNsPerSecond);
  EXPECT_EQ(lines("execution has taken"), 0u);
  host_.run_for(kNsPerSecond);
  EXPECT_EQ(lines("model 'm' version 1, instance m_0_0: execution has taken 10 s"), 1u);
  host_.run_for(49 * kNsPerSecond);
  EXPECT_EQ(lines("execution has taken"), 1u);
  host_.run_for(61 * kNsPerSecond);
  EXPECT_EQ(lines("model 'm' version 1, instance m_0_0: execution has taken 60 s"), 1u);
  EXPECT_EQ(lines("model 'm' version 1, instance m_0_0: execution has taken 120 s"), 1u);
  EXPECT_EQ(lines("execution has taken"), 3u);
}

TEST_F(LongWorkTest, OneExecutionAfterAnotherIsNotALongOne) {
  for (int second = 0; second < 30; ++second) {
    ++execution_;
    host_.run_for(kNsPerSecond);
  }
  execution_ = 0;
  host_.run_for(30 * kNsPerSecond);
  EXPECT_EQ(lines("execution has taken"), 0u);
}

TEST_F(LongWorkTest, TellsOfALoadAndWhereItIs) {
  {
    LongWork::Task task(&work_, &notes_, "loading", "model 'm' version 2");
    EXPECT_STREQ(notes_.note(), "loading model 'm' version 2");
    EXPECT_EQ(work_.running(), std::vector<std::string>{"loading model 'm' version 2 for less than 1 s"});
    task.at("creating instance m_0_1");
    host_.run_for(11 * kNsPerSecond);
    EXPECT_EQ(work_.running(),
              std::vector<std::string>{"loading model 'm' version 2 for 11 s (creating instance m_0_1)"});
  }
  EXPECT_EQ(notes_.note(), nullptr);
  EXPECT_TRUE(work_.running().empty());
  host_.run_for(100 * kNsPerSecond);
  EXPECT_EQ(lines("model 'm' version 2: loading has taken 10 s (creating instance m_0_1)"), 1u);
  EXPECT_EQ(lines("loading has taken"), 1u);
}

TEST(LongWorkTask, WithoutAnybodyItIsOnlyATextInTheNote) {
  Notes notes;
  LongWork::Task task(nullptr, &notes, "unloading", "model 'm' version 2");
  EXPECT_STREQ(notes.note(), "unloading model 'm' version 2");
  LongWork::Task silent(nullptr, nullptr, "unloading", "model 'n' version 1");
}

}  // namespace
}  // namespace atl::models
