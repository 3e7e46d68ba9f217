/// Backends that do not return from a call at load, on a clock that the test moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/temporary_directory.h"
#include "backends/triton/testing/triton_bench.h"

namespace atl::triton {
namespace {

using testing::HasSubstr;

constexpr int64_t kTimeoutNs = 30 * kNsPerSecond;

class HangingTest : public testing::Test {
 protected:
  HangingTest() { add_backend("b"); }
  ~HangingTest() override {
    for (runtime::SharedObject& library : libraries_) function<void()>(library, "scripted_release")();
  }

  /// \returns its library, with what the test may call
  runtime::SharedObject& add_backend(const std::string& backend) {
    namespace fs = std::filesystem;
    fs::create_directories(folder_.path() / backend);
    const fs::path file = folder_.path() / backend / cat("libtriton_", backend, ".so");
    fs::copy_file(cat(ATOLL_FIXTURE_BACKENDS, "/scripted/libtriton_scripted.so"), file);
    libraries_.push_back(runtime::SharedObject::open(file.string()).value());
    return libraries_.back();
  }
  template <class Function>
  static Function* function(const runtime::SharedObject& library, const char* name) {
    return reinterpret_cast<Function*>(library.symbol(name));
  }
  void await_hanging(int count = 1) {
    function<void(int)>(libraries_.back(), "scripted_await_hanging")(count);
  }
  void release() { function<void()>(libraries_.back(), "scripted_release")(); }
  void await(const char* call) { function<void(const char*)>(libraries_.back(), "scripted_await")(call); }
  std::string calls() { return function<const char*()>(libraries_.back(), "scripted_calls")(); }

  std::string outcome_of(const std::string& model, const std::string& backend = "b") {
    auto loaded = parts_->backend.load(source_of(model, backend));
    if (!loaded.ok()) return loaded.status().text();
    InstanceSpec spec;
    spec.name = "i_0";
    auto instance = (*loaded)->create_instance(spec);
    return instance.ok() ? "OK" : instance.status().text();
  }
  std::future<std::string> load(const std::string& model, const std::string& backend = "b") {
    return std::async(std::launch::async, [=, this] { return outcome_of(model, backend); });
  }
  /// The outcome of a load that hangs for the n-th time in its library.
  std::string outcome_in_time(const std::string& model, const std::string& backend = "b", int count = 1) {
    auto outcome = load(model, backend);
    await_hanging(count);
    parts_->host.run_for(kTimeoutNs);
    return outcome.get();
  }
  bool logs(const std::string& text) {
    while (!log_.contains(text)) std::this_thread::yield();
    return true;
  }

  test::TemporaryDirectory folder_;
  test::RecordingLog log_;
  std::deque<runtime::SharedObject> libraries_;
  std::unique_ptr<TritonParts> parts_ =
      std::make_unique<TritonParts>(log_, TritonOptions{{folder_.path().string()}, {}, true}, kTimeoutNs);
};

TEST_F(HangingTest, AModelThatHangsFailsWhenItsTimeIsOver) {
  auto outcome = load("hangs_model");
  await_hanging();
  parts_->host.run_for(kTimeoutNs - 1);
  EXPECT_EQ(outcome.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(outcome_of("fine"), "OK") << "others are loaded meanwhile";
  parts_->host.run_for(1);
  EXPECT_EQ(outcome.get(), "backend 'b' has not returned from TRITONBACKEND_ModelInitialize within 30 s");
  EXPECT_TRUE(log_.contains("within 30 s: its thread is left behind, and its file stays mapped"));
  EXPECT_EQ(outcome_of("fine"), "OK");
}

TEST_F(HangingTest, WhatReturnsAtLastIsFinalised) {
  (void)outcome_in_time("hangs_model");
  EXPECT_EQ(calls(), "Initialize GetBackendAttribute ModelInitialize");
  release();
  await("ModelInitialize ModelFinalize");
  EXPECT_TRUE(logs("backend 'b': TRITONBACKEND_ModelInitialize, which was left behind, has returned"));
  EXPECT_EQ(outcome_of("hangs_model"), "OK");
}

TEST_F(HangingTest, AnInstanceThatHangsKeepsItsModel) {
  EXPECT_EQ(outcome_in_time("hangs_instance"),
            "backend 'b' has not returned from TRITONBACKEND_ModelInstanceInitialize within 30 s");
  EXPECT_EQ(calls(), "Initialize GetBackendAttribute ModelInitialize ModelInstanceInitialize");
  release();
  await("ModelInstanceInitialize ModelInstanceFinalize ModelFinalize");
}

TEST_F(HangingTest, ABackendThatHangsIsNotInitializedOnceMore) {
  add_backend("hangs_backend");
  EXPECT_EQ(outcome_in_time("m", "hangs_backend"),
            "backend 'hangs_backend' has not returned from TRITONBACKEND_Initialize within 30 s");
  EXPECT_EQ(outcome_of("m", "hangs_backend"),
            "backend 'hangs_backend' has not returned from being initialized, and was left behind");
  EXPECT_EQ(outcome_of("m"), "OK") << "another backend";
  EXPECT_EQ(calls(), "Initialize");
  release();
  await("Initialize Finalize");
  EXPECT_TRUE(logs("TRITONBACKEND_Initialize, which was left behind, has returned"));
  EXPECT_EQ(outcome_of("m", "hangs_backend"), "OK");
}

TEST_F(HangingTest, AttributesThatHangAreOfTheirBackend) {
  add_backend("hangs_attributes");
  EXPECT_EQ(outcome_in_time("m", "hangs_attributes"),
            "backend 'hangs_attributes' has not returned from TRITONBACKEND_GetBackendAttribute within 30 s");
  release();
  await("GetBackendAttribute Finalize");
}

TEST_F(HangingTest, ABackendThatHangsTooOftenIsCalledNoMore) {
  for (uint32_t i = 0; i < LoadCalls::kLeftMost; ++i) {
    EXPECT_THAT(outcome_in_time("hangs_model", "b", static_cast<int>(i + 1)), HasSubstr("within 30 s"));
  }
  EXPECT_EQ(
      outcome_of("fine"),
      "backend 'b' has not returned from 8 calls that were left behind; TRITONBACKEND_ModelInitialize is "
      "not called");
}

TEST_F(HangingTest, TheEndOfTheServerWaitsAMoment) {
  auto outcome = load("hangs_model");
  await_hanging();
  parts_->calls.hurry();
  parts_->host.run_for(LoadCalls::kEndNs - 1);
  EXPECT_EQ(outcome.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  parts_->host.run_for(1);
  EXPECT_EQ(outcome.get(),
            "backend 'b' has not returned from TRITONBACKEND_ModelInitialize, and the server ends");
}

TEST_F(HangingTest, WhatHangsOutlivesThePlugin) {
  (void)outcome_in_time("hangs_model");
  EXPECT_EQ(outcome_of("fine"), "OK");
  parts_.reset();
  EXPECT_TRUE(log_.contains("/b/libtriton_b.so stays mapped: a call into it was left behind"));
  EXPECT_THAT(calls(), testing::Not(HasSubstr(" Finalize"))) << "its backend is in use";
  release();
  await("ModelFinalize Finalize");
  EXPECT_FALSE(log_.contains("has returned")) << "the log has gone";
}

}  // namespace
}  // namespace atl::triton
