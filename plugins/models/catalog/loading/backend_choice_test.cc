/// Models whose backend is the name of no instance, and loads that go by steps.
#include "models/catalog/loading/backend_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using Kind = ServiceChanged::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kForeign = R"(backend: "foreign" max_batch_size: 2)";

class BackendChoiceTest : public testing::Test {
 protected:
  BackendChoiceTest() {
    any_.serves_any = [](const ModelSource& source) { return source.name == "m"; };
    any_.loads_by_steps = true;
    bench_.put("m", kForeign);
  }
  void publish(const std::string& instance, test::FakeBackend& backend, int32_t rank = 0) {
    bench_.host.registry().publish<Backend>(instance, backend, rank, Backend::kAnyNameMinor);
  }
  void change(const std::string& instance, Kind kind) {
    bench_.publish_change(Backend::kInterfaceId, instance, kind);
  }
  CatalogBench bench_;
  test::FakeBackend any_{bench_.host.clock()};
};

TEST_F(BackendChoiceTest, WhoServesItAllTheSameLoadsIt) {
  publish("any", any_);
  EXPECT_EQ(bench_.load_one("m").text(), "OK");
  EXPECT_EQ(any_.live_models(), 1);
  EXPECT_EQ(any_.live_pending, 0);
  bench_.put("other", kForeign);
  EXPECT_THAT(bench_.load_one("other").message(),
              HasSubstr("unable to find backend library for backend "
                        "'foreign', try specifying runtime on the model "
                        "configuration. Enabled backends: 'any', 'fake'"));
  bench_.end();
}

TEST_F(BackendChoiceTest, ANameThatIsNearOneOfABackendIsTakenForIt) {
  test::FakeBackend python(bench_.host.clock());
  publish("python", python);
  bench_.put("enabled", R"(backend: "pyton")");
  EXPECT_THAT(bench_.load_one("enabled").message(),
              HasSubstr("Enabled backends: 'fake', 'python', did you mean 'python'?;"));
  bench_.put("missing", R"(backend: "onnxruntme")");
  EXPECT_THAT(
      bench_.load_one("missing").message(),
      HasSubstr(
          "Enabled backends: 'fake', 'python', did you mean 'onnxruntime'? A table of the manifest adds "
          "it: [plugin.onnxruntime] with use = \"backends/onnxruntime\""));
  bench_.end();
}

TEST_F(BackendChoiceTest, AnInstanceOfTheNameIsAskedFirst) {
  publish("any", any_, 10);
  test::FakeBackend named(bench_.host.clock());
  publish("foreign", named);
  EXPECT_EQ(bench_.load_one("m").text(), "OK");
  EXPECT_EQ(named.live_models(), 1);
  EXPECT_EQ(any_.live_models(), 0);
  bench_.end();
}

TEST_F(BackendChoiceTest, TheHighestRankIsTaken) {
  test::FakeBackend best(bench_.host.clock()), silent(bench_.host.clock());
  best.serves_any = any_.serves_any;
  publish("a", any_, 1);
  publish("b", best, 2);
  publish("c", silent, 3);
  EXPECT_EQ(bench_.load_one("m").text(), "OK");
  EXPECT_EQ(best.live_models(), 1);
  bench_.end();
}

TEST_F(BackendChoiceTest, OneOfAnEarlierMinorIsNotAsked) {
  bench_.host.registry().publish<Backend>("any", any_);
  EXPECT_FALSE(bench_.load_one("m").ok());
  bench_.end();
}

TEST_F(BackendChoiceTest, WhyItIsNotServedIsTheReasonUnlessAnotherServesIt) {
  test::FakeBackend picky(bench_.host.clock());
  picky.serves_any = [](const ModelSource&) -> Result<bool> { return not_found("no such file"); };
  publish("picky", picky, 1);
  EXPECT_THAT(bench_.load_one("m").message(), HasSubstr("Not found: no such file"));
  publish("any", any_);
  EXPECT_EQ(bench_.load_one("m").text(), "OK");
  EXPECT_EQ(any_.live_models(), 1);
  bench_.end();
}

TEST_F(BackendChoiceTest, WhatNobodyServedIsTriedAgainWhenBackendsChange) {
  EXPECT_FALSE(bench_.load_one("m").ok());
  any_.serves_any = nullptr;
  publish("any", any_);
  change("any", Kind::kPublished);
  EXPECT_THAT(bench_.index(true), ElementsAre());
  any_.serves_any = [](const ModelSource&) { return true; };
  change("any", Kind::kReplaced);
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 READY"));

  bench_.host.registry().withdraw(std::string(Backend::kInterfaceId), "any");
  change("any", Kind::kWithdrawn);
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 UNAVAILABLE backend 'any' was removed"));
  EXPECT_EQ(any_.live_models(), 0);
  publish("any", any_);
  change("any", Kind::kPublished);
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 READY"));
  bench_.end();
}

TEST_F(BackendChoiceTest, StepsAreGivenGroupsAndAFailureEndsThem) {
  publish("any", any_);
  any_.complete = [](const ModelSource& source) -> Result<std::string> {
    inference::ModelConfig config;
    config.ParseFromString(source.config);
    if (config.instance_group_size() != 1) return internal_error("no instance group");
    config.set_max_batch_size(7);
    return config.SerializeAsString();
  };
  EXPECT_EQ(bench_.load_one("m").text(), "OK");
  EXPECT_EQ(any_.loads().back().model.max_batch_size, 7U);
  any_.complete = [](const ModelSource&) -> Result<std::string> { return invalid_argument("no completion"); };
  bench_.put("m", R"(backend: "foreign" max_batch_size: 3)");
  bench_.repository.touch("m", "1");
  EXPECT_THAT(bench_.load_one("m").message(), HasSubstr("Invalid argument: no completion"));
  EXPECT_EQ(any_.live_pending, 0);
  bench_.end();
}

TEST(BackendChoice, StepsCompleteAlsoWhatIsNotToBeCompleted) {
  CatalogBench bench(CatalogBench::Threads::kSimulated,
                     [](test::FakeOptions& options) { options.set_bool("auto_complete_config", false); });
  test::FakeBackend any(bench.host.clock());
  any.serves_any = [](const ModelSource&) { return true; };
  any.loads_by_steps = true;
  bench.host.registry().publish<Backend>("any", any, 0, Backend::kAnyNameMinor);
  bench.put("m", kForeign);
  EXPECT_EQ(bench.load_one("m").text(), "OK");
  EXPECT_EQ(any.completions, 1U);
  EXPECT_FALSE(any.loads().back().auto_complete);
  bench.end();
}

}  // namespace
}  // namespace atl::models
