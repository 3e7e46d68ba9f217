#include "control/none/none_plugin.h"

#include <memory>

#include "atoll/testing/conformance/model_control.h"
#include "atoll/testing/fake_repository.h"

namespace atl::control {
namespace {

class NonePluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    host_.registry().publish<ModelCatalog>("models", catalog_);
    host_.registry().publish<Repository>("repository", repository_);
  }
  void add(const std::string& model) {
    repository_.put(model);
    catalog_.add_identity(model);
  }

  test::FakeHost host_;
  test::FakeModelCatalog catalog_;
  test::FakeRepository repository_;
};

TEST_F(NonePluginTest, EveryModelIsLoadedOnceAndStartDoesNotWait) {
  add("b");
  add("a");
  NonePlugin plugin(host_);
  ASSERT_TRUE(plugin.start().ok());
  EXPECT_TRUE(catalog_.calls().empty()) << "start() works on the workers";
  EXPECT_FALSE(catalog_.startup_complete);
  host_.run_ready();
  EXPECT_EQ(catalog_.calls(), (std::vector<std::string>{"load a", "load b"}));
  EXPECT_TRUE(catalog_.startup_complete);
  plugin.stop();
  EXPECT_EQ(host_.registry().holders(), 0u);
}

TEST_F(NonePluginTest, RepositoriesThatChangeAreLookedAtAgain) {
  NonePlugin plugin(host_);
  ASSERT_TRUE(plugin.start().ok());
  host_.run_ready();
  add("late");
  OptionsFollowed event;
  event.instance = std::string_view("models");
  host_.events().publish(event, false);
  host_.run_ready();
  EXPECT_TRUE(catalog_.calls().empty()) << "another instance's options";
  event.instance = std::string_view("repository");
  host_.events().publish(event, false);
  host_.run_ready();
  EXPECT_EQ(catalog_.calls(), (std::vector<std::string>{"load late"}));
  plugin.stop();
}

TEST_F(NonePluginTest, AFailedModelLeavesTheOthersServing) {
  for (const char* model : {"a", "b", "c"}) add(model);
  catalog_.decide = [](bool, const std::string& model) {
    return model == "b" ? internal_error("no weights") : Status();
  };
  NonePlugin plugin(host_);
  ASSERT_TRUE(plugin.start().ok());
  host_.run_ready();
  EXPECT_TRUE(catalog_.startup_complete);
  EXPECT_EQ(host_.log().count(LogLevel::kError, "2 models loaded, 1 failed: b"), 1u);
  plugin.stop();
}

TEST_F(NonePluginTest, AnEmptyRepositoryIsServed) {
  NonePlugin plugin(host_);
  ASSERT_TRUE(plugin.start().ok());
  host_.run_ready();
  EXPECT_TRUE(catalog_.calls().empty());
  EXPECT_TRUE(catalog_.startup_complete);
  plugin.stop();
}

TEST_F(NonePluginTest, AnUnreadableRepositoryKeepsTheServerFromBecomingReady) {
  add("a");
  repository_.fail(Code::kUnavailable, "/srv/models: Permission denied");
  NonePlugin plugin(host_);
  ASSERT_TRUE(plugin.start().ok());
  host_.run_ready();
  EXPECT_FALSE(catalog_.startup_complete);
  EXPECT_TRUE(catalog_.calls().empty());
  EXPECT_EQ(host_.log().count(LogLevel::kError, "/srv/models: Permission denied"), 1u);
  EXPECT_EQ(host_.gate().count(), 0);
  plugin.stop();
}

TEST_F(NonePluginTest, APassIsHeldUntilTheLoadHasEnded) {
  add("a");
  NonePlugin plugin(host_);
  ASSERT_TRUE(plugin.start().ok());
  EXPECT_EQ(host_.gate().count(), 1);
  EXPECT_EQ(plugin.holding(), "the start-up load of the models");
  host_.gate().close();
  host_.run_ready();
  EXPECT_EQ(host_.gate().count(), 0);
  EXPECT_EQ(plugin.holding(), "");
  plugin.stop();
}

TEST_F(NonePluginTest, ALoadThatNeverStartsGivesItsPassBack) {
  add("a");
  {
    auto workers = std::make_unique<test::DeterministicExecutors>(host_.fake_clock(), 1);
    ASSERT_TRUE(
        begin_startup_load({host_.log(), host_.gate(), *workers, catalog_, repository_}, std::nullopt).ok());
    EXPECT_EQ(host_.gate().count(), 1);
  }
  EXPECT_EQ(host_.gate().count(), 0) << "its worker ended before it ran";
  EXPECT_TRUE(catalog_.calls().empty());
}

TEST_F(NonePluginTest, AFailedStartLetsGoOfEverything) {
  host_.gate().close();
  NonePlugin plugin(host_);
  EXPECT_EQ(plugin.start().code(), Code::kUnavailable);
  EXPECT_EQ(host_.registry().holders(), 0u);

  host_.gate().open();
  host_.registry().withdraw(std::string(Repository::kInterfaceId), "repository");
  NonePlugin without_repository(host_);
  EXPECT_EQ(without_repository.start().code(), Code::kNotFound);
  EXPECT_EQ(host_.registry().holders(), 0u);
}

}  // namespace
}  // namespace atl::control

namespace atl::test {
namespace {

/// A started plugin and the repository it works with.
struct StartedNone {
  explicit StartedNone(FakeHost& host) : plugin(host) {
    repository.put("alpha");
    host.registry().publish<Repository>("repository", repository);
    EXPECT_TRUE(is_ok(plugin.start()));
  }
  ~StartedNone() { plugin.stop(); }
  FakeRepository repository;
  control::NonePlugin plugin;
};

ModelControlProvider none() {
  ModelControlProvider provider;
  provider.name = "none";
  provider.mode = "none";
  provider.make = [](FakeHost& host) {
    auto started = std::make_shared<StartedNone>(host);
    ModelControl* control = &started->plugin.control();
    return std::shared_ptr<ModelControl>(started, control);
  };
  return provider;
}

INSTANTIATE_TEST_SUITE_P(None, ModelControlConformance, ::testing::Values(none()));

}  // namespace
}  // namespace atl::test
