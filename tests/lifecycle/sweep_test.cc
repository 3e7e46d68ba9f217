// Fails the first, second, third... lifecycle call until a run succeeds; after each failure nothing may be
// left.
#include <thread>
#include <vector>

#include "kernel_fixture.h"

namespace atl::kernel {
namespace {

class SweepTest : public KernelFixture {
 protected:
  Instances instances(const std::string& option) {
    return {
        {"p", "use = 'fixtures/provider'" + option + faults_option()},
        {"q", "use = 'fixtures/provider'" + option + faults_option()},
        {"c", "use = 'fixtures/consumer'\nneeds = { 'atoll.fixture/1' = 'p' }" + option + faults_option()},
        {"w", "use = 'fixtures/watcher'" + option + faults_option()}};
  }
};

TEST_F(SweepTest, BringUp) {
  ASSERT_TRUE(apply({}).ok());
  std::thread([] {}).join();  // ThreadSanitizer adds a thread of its own to the first one
  const Footprint before = footprint();
  for (int64_t n = 1;; ++n) {
    faults_.calls_until_failure = n;
    Status status = apply(instances(""));
    if (status.ok()) {
      EXPECT_EQ(n, 9) << "four instances have four creates and four starts";
      break;
    }
    EXPECT_NE(status.text().find("the fault injector says so"), std::string::npos) << status.text();
    settle();
    EXPECT_EQ(footprint(), before) << "after the failure of call " << n;
    EXPECT_TRUE(kernel_.lifecycle().instances().empty());
    ASSERT_LT(n, 20);
  }
  faults_.calls_until_failure = 0;
  shut_down();
  EXPECT_EQ(footprint(), before);
}

TEST_F(SweepTest, Reload) {
  ASSERT_TRUE(apply(instances("")).ok());
  const Footprint before = footprint();
  const auto running = kernel_.lifecycle().instances();
  Instances next = instances("\nsize = 2");
  next["new"] = "use = 'fixtures/provider'" + faults_option();
  for (int64_t n = 1;; ++n) {
    faults_.calls_until_failure = n;
    Status status = apply(next);
    if (status.ok()) {
      EXPECT_EQ(n, 11) << "five instances have five creates and five starts";
      break;
    }
    settle();
    EXPECT_EQ(footprint(), before) << "after the failure of call " << n;
    EXPECT_EQ(kernel_.lifecycle().instances(), running);
    EXPECT_EQ(probe("p")->size(), 1);
    ASSERT_LT(n, 20);
  }
  settle();
  EXPECT_EQ(probe("p")->size(), 2);
  EXPECT_EQ(probe("new")->size(), 1);
}

TEST_F(SweepTest, AGenerationThatIsInterruptedIsUndone) {
  const Footprint before = footprint();
  for (int steps = 0; steps < 8; ++steps) {
    int asked = 0;
    auto planned = plan(instances(""));
    ASSERT_TRUE(planned.ok());
    Status status =
        kernel_.lifecycle().apply(std::move(planned).value(), kNsPerSecond, [&] { return asked++ == steps; });
    EXPECT_EQ(status.code(), Code::kCancelled);
    settle();
    EXPECT_EQ(footprint(), before) << "interrupted after " << steps << " steps";
  }
}

}  // namespace
}  // namespace atl::kernel
