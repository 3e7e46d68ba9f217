// Loads that change a served version's instances and nothing else of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using test::TestRequest;

std::string groups(int cpus, int passive = 0, std::string_view more = {}) {
  std::string text = cat(kSimpleConfig, " instance_group { name: \"g\" kind: KIND_CPU count: ", cpus, " }");
  if (passive != 0) {
    text += cat(" instance_group { name: \"p\" kind: KIND_CPU passive: true count: ", passive, " }");
  }
  return text + std::string(more);
}

class InstanceChangeTest : public ::testing::Test {
 protected:
  ~InstanceChangeTest() override {
    model_.reset();
    bench_.end();
  }
  Status load(std::string config, const std::vector<int64_t>& versions = {1}) {
    bench_.put("m", config, versions);
    for (int64_t version : versions) {
      if (stamped_.insert(version).second) bench_.repository.touch("m", cat(version));
    }
    bench_.repository.touch("m", "config.pbtxt");
    ModelLoadRequest request;
    request.model = "m";
    ended_ = false;
    Status status = internal_error("the load did not end");
    bench_.catalog().load_model(std::move(request), [this](ModelLoadOutcome outcome) {
      if (!std::exchange(ended_, true)) load_status_ = std::move(outcome.status);
    });
    bench_.host.run_ready();
    return ended_ ? load_status_.clone() : std::move(status);
  }
  void infer(TestRequest& request) {
    fill_simple(request);
    model_ = bench_.catalog().acquire("m", 1).value();
    ASSERT_TRUE(request.infer(*model_.get()).ok());
  }
  uint64_t answered() { return bench_.catalog().statistics("m", 1).value().at(0).success.count; }
  size_t loads() { return bench_.backend.loads().size(); }

  std::set<int64_t> stamped_;
  CatalogBench bench_;
  ModelRef model_;
  bool ended_ = false;
  Status load_status_;
};

TEST_F(InstanceChangeTest, MoreAndFewerWithoutALoadAndWithTheirStatistics) {
  ASSERT_TRUE(load(groups(1)).ok());
  auto before = bench_.backend.instances();
  ASSERT_EQ(before.size(), 1u);
  TestRequest first, second;
  infer(first);
  ASSERT_EQ(load(groups(3)).text(), "OK");
  EXPECT_EQ(loads(), 1u) << "the backend was not asked again";
  EXPECT_EQ(bench_.backend.live_models(), 1);
  ASSERT_EQ(bench_.backend.instances().size(), 3u);
  EXPECT_EQ(bench_.backend.instances()[0], before[0]) << "the one that was there stays";
  EXPECT_EQ(answered(), 1u);
  infer(second);
  EXPECT_EQ(answered(), 2u);
  EXPECT_TRUE(bench_.host.log().contains("'m' version 1 changes its instances: 1 stay, 2 are new, 0 go"));

  model_.reset();
  ASSERT_EQ(load(groups(2)).text(), "OK");
  EXPECT_EQ(loads(), 1u);
  EXPECT_EQ(bench_.backend.instances().size(), 2u);
  EXPECT_EQ(bench_.backend.instances()[0], before[0]);
  EXPECT_EQ(answered(), 2u);
  EXPECT_EQ(bench_.scheduler.live(), 1u);
  EXPECT_EQ(bench_.host.log().count(LogLevel::kInfo, "successfully loaded 'm' version 1"), 1u);
  EXPECT_EQ(bench_.host.log().count(LogLevel::kInfo, "successfully unloaded"), 0u) << "nothing was";
  bench_.unload({"m"});
  EXPECT_EQ(bench_.backend.live_models(), 0);
  EXPECT_EQ(bench_.backend.live_instances(), 0);
  EXPECT_EQ(bench_.host.log().count(LogLevel::kInfo, "successfully unloaded 'm' version 1"), 1u);
}

TEST_F(InstanceChangeTest, AVersionThatReplacesOneIsToldBeforeTheEndOfThatOne) {
  ASSERT_TRUE(load(groups(1)).ok());
  bench_.host.log().clear();
  ASSERT_TRUE(load(groups(1) + " parameters { key: \"a\" value { string_value: \"b\" } }").ok());
  bench_.host.run_ready();
  std::vector<std::string> told;
  for (const auto& record : bench_.host.log().records()) {
    if (record.message.starts_with("successfully ")) told.push_back(record.message);
  }
  EXPECT_THAT(told, ::testing::ElementsAre("successfully loaded 'm' version 1",
                                           "successfully unloaded 'm' version 1"));
}

TEST_F(InstanceChangeTest, TheConfigurationShownIsTheNewOne) {
  ASSERT_TRUE(load(groups(1)).ok());
  ASSERT_TRUE(load(groups(4)).ok());
  inference::ModelConfig config;
  ASSERT_TRUE(config.ParseFromString(bench_.catalog().acquire("m", 1).value()->info().config));
  EXPECT_EQ(config.instance_group(0).count(), 4);
}

TEST_F(InstanceChangeTest, RequestsThatWaitAreAnswered) {
  ASSERT_TRUE(load(groups(3)).ok());
  bench_.scheduler.hold = true;
  TestRequest waiting;
  infer(waiting);
  EXPECT_EQ(load(groups(1)).text(), "the load did not end");
  EXPECT_EQ(bench_.backend.instances().size(), 3u) << "what runs keeps what it runs on";
  TestRequest later;
  ModelRef old = std::move(model_);
  infer(later);
  EXPECT_NE(old.get(), model_.get());
  EXPECT_TRUE(bench_.scheduler.run_held());
  EXPECT_TRUE(waiting.done());
  EXPECT_TRUE(later.done());
  EXPECT_EQ(answered(), 2u);
  EXPECT_FALSE(ended_);
  old.reset();
  bench_.host.run_ready();
  EXPECT_TRUE(ended_) << "it is told when the instances are gone";
  EXPECT_EQ(load_status_.text(), "OK");
  EXPECT_EQ(bench_.backend.instances().size(), 1u);
  EXPECT_TRUE(bench_.catalog().acquire("m", 1).ok());
}

TEST_F(InstanceChangeTest, WhatIsNotAlikeIsMadeAnew) {
  ASSERT_TRUE(load(groups(2)).ok());
  ASSERT_TRUE(load(groups(1, 2)).ok());
  EXPECT_EQ(loads(), 1u);
  size_t passive = 0;
  for (const InstanceSpec& spec : bench_.backend.specs()) passive += spec.passive;
  EXPECT_EQ(passive, 2u);
  EXPECT_EQ(bench_.backend.instances().size(), 3u);
}

TEST_F(InstanceChangeTest, AFailureLeavesWhatIsServed) {
  ASSERT_TRUE(load(groups(1)).ok());
  auto before = bench_.catalog().acquire("m", 1);
  bench_.backend.behavior.fail_instances = 1;
  EXPECT_FALSE(load(groups(3)).ok());
  EXPECT_EQ(bench_.catalog().acquire("m", 1)->get(), before->get());
  bench_.scheduler.fail_creates = 1;
  EXPECT_FALSE(load(groups(3)).ok());
  EXPECT_EQ(bench_.catalog().acquire("m", 1)->get(), before->get());
  EXPECT_EQ(bench_.backend.instances().size(), 1u);
  EXPECT_FALSE(load(groups(5000)).ok()) << "more than there may be";
  TestRequest request;
  infer(request);
  EXPECT_TRUE(request.done());
  ASSERT_TRUE(load(groups(3)).ok());
  EXPECT_EQ(loads(), 1u);
}

TEST_F(InstanceChangeTest, AnyOtherChangeIsALoad) {
  ASSERT_TRUE(load(groups(1)).ok());
  ASSERT_TRUE(load(groups(2, 0, " response_cache { enable: false }")).ok());
  EXPECT_EQ(loads(), 2u);
  bench_.repository.touch("m", "1");
  ASSERT_TRUE(load(groups(1, 0, " response_cache { enable: false }")).ok());
  EXPECT_EQ(loads(), 3u) << "the version's files changed";
}

TEST_F(InstanceChangeTest, OnlyVersionsThatWereThereAreChangedInPlace) {
  ASSERT_TRUE(load(groups(1)).ok());
  ASSERT_TRUE(load(groups(2), {1, 2}).ok());
  ASSERT_EQ(loads(), 2u);
  EXPECT_EQ(bench_.backend.loads()[1].version, 2);
  EXPECT_EQ(bench_.backend.instances().size(), 4u);
}

TEST_F(InstanceChangeTest, NewInstancesAreWarmedUpUncounted) {
  auto with_warmup = [](int count) {
    inference::ModelConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(groups(count), &config));
    auto& sample = *config.add_model_warmup();
    sample.set_name("s");
    sample.set_batch_size(1);
    auto& input = (*sample.mutable_inputs())["INPUT0"];
    input.set_data_type(inference::TYPE_FP32);
    input.add_dims(4);
    input.set_zero_data(true);
    return cat(kSerialized, config.SerializeAsString());
  };
  ASSERT_TRUE(load(with_warmup(1)).ok());
  TestRequest first;
  infer(first);
  ASSERT_TRUE(load(with_warmup(3)).ok());
  std::vector<uint64_t> executions;
  for (const test::FakeInstance* instance : bench_.backend.instances())
    executions.push_back(instance->executions());
  EXPECT_THAT(executions, ::testing::ElementsAre(2, 1, 1)) << "the old one is not disturbed";
  EXPECT_EQ(answered(), 1u);
  // What they do from now on counts.
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(load(with_warmup(3 - i)).ok());
  }
  TestRequest second;
  infer(second);
  EXPECT_EQ(answered(), 2u);
}

}  // namespace
}  // namespace atl::models
