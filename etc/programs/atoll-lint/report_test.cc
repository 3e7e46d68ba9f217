#include "report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <thread>

namespace atl::lint {
namespace {

using std::chrono::milliseconds;

class ReportTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe(ends), 0); }
  void TearDown() override {
    ::close(ends[0]);
    if (ends[1] >= 0) ::close(ends[1]);
  }
  void close_writer() {
    ::close(ends[1]);
    ends[1] = -1;
  }
  int ends[2] = {-1, -1};
  LintFindings said;
};

TEST_F(ReportTest, HandsOverWhatIsSaid) {
  PipeReport report(ends[1]);
  report.step("create");
  report.problem("is bad");
  report.note("was not looked at");
  report.step("destroy");
  close_writer();
  EXPECT_TRUE(read_report(ends[0], said));
  EXPECT_EQ(said.problems(), std::vector<std::string>{"is bad"});
  EXPECT_EQ(said.notes(), std::vector<std::string>{"was not looked at"});
  EXPECT_EQ(said.last_step(), "destroy");
}

TEST_F(ReportTest, AStepThatTakesLongIsAProblem) {
  std::promise<void> go;
  std::thread child([&] {
    PipeReport report(ends[1]);
    report.step("start");
    go.get_future().wait();
    report.step("stop");
    close_writer();
  });
  // However long the step takes on this machine: the limit is less.
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(20));
    go.set_value();
  });
  EXPECT_TRUE(read_report(ends[0], said, kHangsAfter, milliseconds(1)));
  child.join();
  later.join();
  ASSERT_FALSE(said.problems().empty());
  EXPECT_EQ(said.problems()[0],
            "start takes more than 1 ms, which is the limit: who loads it stands still meanwhile");
}

TEST_F(ReportTest, AStepThatDoesNotReturnIsNotWaitedFor) {
  PipeReport(ends[1]).step("start");
  EXPECT_FALSE(read_report(ends[0], said, milliseconds(50)));
  EXPECT_EQ(said.last_step(), "start");
}

}  // namespace
}  // namespace atl::lint
