#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "backends/python/testing/double_models.h"

namespace atl::python {
namespace {

using test::TestRequest;

class HostileWorkerTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<BackendInstance>> create(const DoubleModel& model) {
    Result<std::unique_ptr<BackendModel>> loaded = backend_->load(model.source);
    if (!loaded.ok()) return std::move(loaded).status();
    models_.push_back(std::move(loaded).value());
    InstanceSpec spec;
    spec.name = "double_0";
    spec.reporter = &reporter_;
    return models_.back()->create_instance(spec);
  }
  std::unique_ptr<TestRequest> request(std::vector<float> values) {
    auto made = std::make_unique<TestRequest>("r");
    made->add_input("INPUT0", DataType::kFp32, {static_cast<int64_t>(values.size())}, values);
    made->add_output("OUTPUT0");
    return made;
  }
  /// \returns what the request was answered, once it is
  test::ReceivedResponse ask(BackendInstance& instance, std::vector<float> values = {1, 2}) {
    const auto one = request(std::move(values));
    one->mark_accepted();
    Request* pointer = &one->request();
    Status status = instance.execute({.requests = {&pointer, 1}, .total_batch_size = 1});
    if (!status.ok()) fail_request(*pointer, std::move(status));
    EXPECT_TRUE(one->wait_done());
    for (const std::string& problem : one->problems()) ADD_FAILURE() << problem;
    EXPECT_EQ(one->responses().size(), 1u);
    return one->response();
  }
  static void wait_ready(const BackendInstance& instance) {
    while (!instance.ready()) std::this_thread::yield();
  }

  test::FakeHost host_{"python", test::FakeHost::Threads::kReal};
  test::RecordingReporter reporter_;
  std::shared_ptr<Backend> backend_ = double_backend(host_);
  std::vector<std::unique_ptr<BackendModel>> models_;
};

TEST_F(HostileWorkerTest, ALieFailsItsRequestsAndAnotherWorkerIsStarted) {
  for (const char* lie :
       {"bad message type", "bad slab",    "bad offset",    "bad size",      "crooked offset",
        "no payload",       "bad batch",   "bad count",     "bad records",   "bad handle",
        "bad tensor count", "bad tensors", "bad name",      "bad type",      "bad rank",
        "bad shape",        "bad data",    "bad data size", "bad data slab", "bad parameters",
        "broken ring"}) {
    const DoubleModel model(lie);
    auto instance = create(model);
    ASSERT_TRUE(instance.ok()) << lie << ": " << instance.status().text();
    const test::ReceivedResponse response = ask(**instance);
    EXPECT_EQ(response.code, Code::kUnavailable) << lie;
    EXPECT_NE(response.message.find("does not keep to the protocol"), std::string::npos)
        << lie << ": " << response.message;
    wait_ready(**instance);
  }
}

TEST_F(HostileWorkerTest, ABatchThatReturnsTwiceIsAnsweredOnce) {
  const DoubleModel model("returns twice");
  auto instance = create(model);
  ASSERT_TRUE(instance.ok());
  EXPECT_EQ(ask(**instance).code, Code::kOk);
}

TEST_F(HostileWorkerTest, ADeathFailsTheBatch) {
  const DoubleModel model("dies in execute");
  auto instance = create(model);
  ASSERT_TRUE(instance.ok());
  const test::ReceivedResponse response = ask(**instance);
  EXPECT_EQ(response.code, Code::kUnavailable);
  EXPECT_TRUE(response.message.ends_with("was killed by signal 9 (Killed)")) << response.message;
  wait_ready(**instance);
  EXPECT_EQ((*instance)->unready_reason(), "");
}

TEST_F(HostileWorkerTest, WhileThereIsNoWorkerRequestsAreRefusedOrWait) {
  const DoubleModel model("dies in execute");
  auto instance = create(model);
  ASSERT_TRUE(instance.ok());
  (void)ask(**instance);
  wait_ready(**instance);
  (void)ask(**instance);  // the second death in a row: the next worker comes in a second
  while ((*instance)->unready_reason().find("the next one is started in 1 s") == std::string::npos)
    std::this_thread::yield();
  EXPECT_FALSE((*instance)->ready());
  EXPECT_NE((*instance)->room(), 0u);
  const test::ReceivedResponse refused = ask(**instance);
  EXPECT_EQ(refused.code, Code::kUnavailable);
  EXPECT_NE(refused.message.find("the next one is started in 1 s"), std::string::npos) << refused.message;
}

TEST_F(HostileWorkerTest, WhatCanNotBeginFailsTheLoad) {
  const DoubleModel dies("dies in initialize"), fails("fails in initialize");
  const Status death = create(dies).status().clone();
  EXPECT_EQ(death.code(), Code::kUnavailable);
  EXPECT_NE(death.text().find("was killed by signal 9"), std::string::npos) << death.text();
  const Status failure = create(fails).status().clone();
  EXPECT_EQ(failure.code(), Code::kInternal);
  EXPECT_EQ(failure.text(), "it cannot be");
}

TEST_F(HostileWorkerTest, WhatNeverBeginsIsEnded) {
  PythonSettings settings = double_settings();
  settings.start_timeout_ns = 50 * kNsPerMs;
  backend_ = double_backend(host_, settings);
  const DoubleModel model("never initialised");
  const Status status = create(model).status().clone();
  EXPECT_TRUE(status.text().ends_with("is killed because it was not ready within 50 ms")) << status.text();
}

TEST_F(HostileWorkerTest, WhatNeverReturnsIsEnded) {
  PythonSettings settings = double_settings();
  settings.execute_timeout_ns = 50 * kNsPerMs;
  backend_ = double_backend(host_, settings);
  const DoubleModel model("hangs");
  auto instance = create(model);
  ASSERT_TRUE(instance.ok());
  const test::ReceivedResponse response = ask(**instance);
  EXPECT_EQ(response.code, Code::kUnavailable);
  EXPECT_TRUE(response.message.ends_with("is killed because execute() has not returned within 50 ms"))
      << response.message;
}

TEST_F(HostileWorkerTest, AnInstanceWhoseWorkerHangsCanBeDestroyed) {
  PythonSettings settings = double_settings();
  settings.stop_timeout_ns = 20 * kNsPerMs;
  backend_ = double_backend(host_, settings);
  const DoubleModel model("hangs");
  auto instance = create(model);
  ASSERT_TRUE(instance.ok());
  const auto one = request({1});
  one->mark_accepted();
  Request* pointer = &one->request();
  ASSERT_TRUE((*instance)->execute({.requests = {&pointer, 1}, .total_batch_size = 1}).ok());
  instance->reset();
  EXPECT_TRUE(one->done());
  EXPECT_EQ(one->response().code, Code::kUnavailable);
}

TEST_F(HostileWorkerTest, AMissingFileOrInterpreterIsNotFound) {
  DoubleModel model("right");
  model.source.model.default_model_filename = "other.py";
  Result<std::unique_ptr<BackendModel>> loaded = backend_->load(model.source);
  EXPECT_EQ(loaded.status().text(),
            cat("Python model file not found in '", model.source.version_directory, "/other.py'"));
  model.source.model.default_model_filename.clear();
  model.source.model.parameters["interpreter"] = "python9";
  loaded = backend_->load(model.source);
  EXPECT_EQ(loaded.status().code(), Code::kNotFound);
  EXPECT_TRUE(loaded.status().text().starts_with("model 'double': there is no program 'python9'"))
      << loaded.status().text();
}

}  // namespace
}  // namespace atl::python
