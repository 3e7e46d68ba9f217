// What waits for the versions that are served, as those who operate the server ask.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "atoll/models/model_queues.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/fake_admission.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using test::is_failure;
using test::is_ok;
using test::TestRequest;

class OperatedQueuesTest : public ::testing::Test {
 protected:
  explicit OperatedQueuesTest(uint32_t minor = SchedulerProvider::kOperatedMinor) {
    bench.host.registry().publish<SchedulerProvider>("default", bench.scheduler, 0, minor);
    bench.scheduler.hold = true;
    bench.put("m");
  }
  ~OperatedQueuesTest() override {
    (void)bench.scheduler.run_held();
    for (auto& request : requests) EXPECT_TRUE(request->done());
    requests.clear();
    models.clear();
  }
  ModelQueues& queues() { return bench.plugin->queues(); }
  void send(int count) {
    for (int i = 0; i < count; ++i) {
      Result<ModelRef> model = bench.catalog().acquire("m", 1);
      ASSERT_TRUE(model.ok());
      requests.push_back(std::make_unique<TestRequest>(cat("r", i)));
      fill_simple(*requests.back());
      ASSERT_TRUE(is_ok(requests.back()->infer(*model.value().get())));
      models.push_back(std::move(model).value());
    }
  }
  test::FakeAdmission admission;  ///< outlives the versions
  CatalogBench bench;
  std::vector<ModelRef> models;
  std::vector<std::unique_ptr<TestRequest>> requests;
};

TEST_F(OperatedQueuesTest, WhatWaitsIsDescribedAndCancelled) {
  EXPECT_TRUE(is_failure(queues().describe("m", 1).status(), Code::kNotFound));
  ASSERT_TRUE(is_ok(bench.load_one("m")));
  send(600);
  Result<ModelQueue> found = queues().describe("m", 1);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found.value().is_described);
  EXPECT_EQ(found.value().queue.requests, 600u);
  EXPECT_TRUE(found.value().shortages.empty());
  Result<uint64_t> cancelled = queues().cancel_waiting("m", 1, 0);
  ASSERT_TRUE(cancelled.ok());
  EXPECT_EQ(cancelled.value(), 600u);
  EXPECT_EQ(queues().describe("m", 1).value().queue.requests, 0u);
  EXPECT_TRUE(is_failure(queues().cancel_waiting("m", 2, 0).status(), Code::kNotFound));
}

TEST_F(OperatedQueuesTest, WhatIsDrainedIsListedUntilItIsMadeAnew) {
  ASSERT_TRUE(is_ok(bench.load_one("m")));
  EXPECT_TRUE(queues().draining().empty());
  EXPECT_TRUE(is_failure(queues().set_draining("none", 1, true), Code::kNotFound));
  ASSERT_TRUE(is_ok(queues().set_draining("m", 1, true)));
  ASSERT_EQ(queues().draining().size(), 1u);
  EXPECT_EQ(queues().draining()[0].model, "m");
  EXPECT_EQ(queues().draining()[0].version, 1);
  ASSERT_TRUE(is_ok(queues().set_draining("m", 1, false)));
  EXPECT_TRUE(queues().draining().empty());
  ASSERT_TRUE(is_ok(queues().set_draining("m", 1, true)));
  bench.unload({"m"});
  EXPECT_TRUE(queues().draining().empty());
  ASSERT_TRUE(is_ok(bench.load_one("m")));
  EXPECT_TRUE(queues().draining().empty()) << "it is another one";
  bench.scheduler.can_drain = false;
  EXPECT_TRUE(is_failure(queues().set_draining("m", 1, true), Code::kUnimplemented));
}

TEST_F(OperatedQueuesTest, AdmissionSaysWhatIsMissing) {
  struct Listener final : AdmissionListener {
    virtual ~Listener() = default;
    void admitted(void*) noexcept override {}
  } listener;
  admission.begin_closed();
  bench.host.registry().publish<ExecutionAdmission>("limiter", admission, 0,
                                                    ExecutionAdmission::kShortagesMinor);
  ASSERT_TRUE(is_ok(bench.load_one("m")));
  const ModelRef model = bench.catalog().acquire("m", 1).value();
  AdmittedInstance& instance =
      *static_cast<const ServedModel*>(model.get())->parts().admission.instances()[0];
  send(1);
  EXPECT_FALSE(instance.ask(listener, nullptr, false));
  EXPECT_TRUE(queues().describe("m", 1).value().shortages.empty()) << "that is not what it waits for";
  bench.scheduler.waits_for = QueueWait::kAdmission;
  const ModelQueue found = queues().describe("m", 1).value();
  ASSERT_EQ(found.shortages.size(), 1u);
  EXPECT_EQ(found.shortages[0].resource, "door");
  EXPECT_TRUE(instance.withdraw());
  EXPECT_TRUE(queues().describe("m", 1).value().shortages.empty());
}

class OlderScheduler : public OperatedQueuesTest {
 protected:
  OlderScheduler() : OperatedQueuesTest(0) {}
};

TEST_F(OlderScheduler, IsNotAsked) {
  ASSERT_TRUE(is_ok(bench.load_one("m")));
  send(1);
  EXPECT_FALSE(queues().describe("m", 1).value().is_described);
  EXPECT_TRUE(is_failure(queues().cancel_waiting("m", 1, 0).status(), Code::kUnimplemented));
  EXPECT_TRUE(is_failure(queues().set_draining("m", 1, true), Code::kUnimplemented));
  EXPECT_TRUE(queues().draining().empty());
}

}  // namespace
}  // namespace atl::models
