#include "control/explicit/explicit_plugin.h"

#include <memory>

#include "atoll/testing/conformance/model_control.h"
#include "atoll/testing/fake_repository.h"

namespace atl::control {
namespace {

void set_options(test::FakeHost& host, std::vector<std::string> load_model) {
  host.options()
      .set_strings("load_model", std::move(load_model))
      .set_bool("allow_file_override", true)
      .set_bytes("max_override_bytes", 100);
}

class ExplicitPluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_options(host_, {});
    host_.registry().publish<ModelCatalog>("models", catalog_);
    host_.registry().publish<Repository>("repository", repository_);
    for (const char* model : {"a", "b", "c"}) {
      repository_.put(model);
      catalog_.add_identity(model);
    }
  }
  void TearDown() override {
    if (plugin_ != nullptr) plugin_->stop();
    EXPECT_EQ(host_.registry().holders(), 0u);
    EXPECT_EQ(host_.gate().count(), 0);
  }
  Status start() {
    plugin_ = std::make_unique<ExplicitPlugin>(host_);
    ProblemLines problems(host_.options());
    ExplicitPlugin::check(problems);
    ATOLL_RETURN_IF_ERROR(problems.status());
    return plugin_->start();
  }
  ModelControl& control() { return plugin_->control(); }
  /// Of a call; "(none)" while there is no answer.
  std::string load(const std::string& model, std::vector<ModelControlParameter> parameters = {}) {
    std::string answer = "(none)";
    control().load(model, std::move(parameters), [&](const Status& status) { answer = status.text(); });
    host_.run_ready();
    return answer;
  }
  std::string unload(const std::string& model, std::vector<ModelControlParameter> parameters = {}) {
    std::string answer = "(none)";
    control().unload(model, std::move(parameters), [&](const Status& status) { answer = status.text(); });
    host_.run_ready();
    return answer;
  }
  static ModelControlParameter config(std::string json) {
    return {"config", ParameterType::kString, std::move(json)};
  }
  static ModelControlParameter file(std::string path, std::string content) {
    return {"file:" + path, ParameterType::kBytes, std::move(content)};
  }

  using Calls = std::vector<std::string>;
  test::FakeHost host_;
  test::FakeModelCatalog catalog_;
  test::FakeRepository repository_;
  std::unique_ptr<ExplicitPlugin> plugin_;
};

TEST_F(ExplicitPluginTest, NothingIsLoadedUnlessNamed) {
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(control().mode(), "explicit");
  host_.run_ready();
  EXPECT_EQ(catalog_.calls(), Calls{});
  EXPECT_TRUE(catalog_.startup_complete);
}

TEST_F(ExplicitPluginTest, NamedModelsAreLoadedAtStartOnce) {
  set_options(host_, {"c", "a", "c"});
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(catalog_.calls(), Calls{}) << "start() works on the workers";
  host_.run_ready();
  EXPECT_EQ(catalog_.calls(), (Calls{"load a", "load c"}));
  EXPECT_TRUE(catalog_.startup_complete);
}

TEST_F(ExplicitPluginTest, AStarIsAllOfThem) {
  set_options(host_, {"*", "*"});
  ASSERT_TRUE(start().ok());
  host_.run_ready();
  EXPECT_EQ(catalog_.calls(), (Calls{"load a", "load b", "load c"}));
}

TEST_F(ExplicitPluginTest, OtherOptionsLoadWhatTheyNameAnewAndNothingElse) {
  set_options(host_, {"a", "b"});
  ASSERT_TRUE(start().ok());
  host_.run_ready();
  EXPECT_EQ(unload("b"), "OK");
  const size_t calls = catalog_.calls().size();
  set_options(host_, {"a", "b", "c"});
  host_.options().set_bool("allow_file_override", false);
  ASSERT_TRUE(plugin_->can_follow(host_.options()));
  plugin_->follow(host_.options());
  host_.run_ready();
  const Calls all = catalog_.calls();
  EXPECT_EQ(Calls(all.begin() + static_cast<ptrdiff_t>(calls), all.end()), Calls{"load c"});
  EXPECT_NE(load("b", {file("1/x", "bytes"), config("{}")}), "OK");
  set_options(host_, {"../a"});
  EXPECT_FALSE(plugin_->can_follow(host_.options()));
}

TEST_F(ExplicitPluginTest, WrongNamesAreRefusedBeforeTheStart) {
  set_options(host_, {"*", "a"});
  EXPECT_EQ(
      start().text(),
      "option 'load_model': Wildcard model name '*' must be the ONLY startup model if specified at all.");
  set_options(host_, {"../a"});
  EXPECT_EQ(start().text(),
            "option 'load_model': invalid model name '../a', model name must not contain path traversal "
            "characters");
}

TEST_F(ExplicitPluginTest, AModelThatFailsAtStartLeavesTheOthers) {
  set_options(host_, {"a", "ghost"});
  ASSERT_TRUE(start().ok());
  host_.run_ready();
  EXPECT_TRUE(catalog_.startup_complete);
  EXPECT_EQ(host_.log().count(LogLevel::kError, "1 model loaded, 1 failed: ghost"), 1u);
}

TEST_F(ExplicitPluginTest, CallsReachTheCatalogAsTheyAre) {
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(load("a"), "OK");
  EXPECT_EQ(load("b", {file("1/x", "bytes"), config("{}")}), "OK");
  EXPECT_EQ(unload("b"), "OK");
  EXPECT_EQ(unload("../never/heard/of"), "OK");
  EXPECT_EQ(unload("b", {{"unload_dependents", ParameterType::kBool, {}, true}}), "OK");
  EXPECT_EQ(catalog_.calls(),
            (Calls{"load a", "load b", "unload b", "unload ../never/heard/of", "unload b with members"}));
  auto requests = catalog_.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_FALSE(requests[0].config);
  EXPECT_TRUE(requests[0].refresh_members);
  EXPECT_EQ(requests[1].config, "{}");
  ASSERT_EQ(requests[1].files.size(), 1u);
  EXPECT_EQ(requests[1].files[0].content, "bytes");
}

TEST_F(ExplicitPluginTest, FailuresHaveTheProtocolsTexts) {
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(load(" "), "Model name cannot be empty. Please enter a valid name to deploy.");
  EXPECT_EQ(load("a", {{"speed", ParameterType::kInt, {}}}),
            "Unrecognized load parameter 'speed' with type 'int'");
  catalog_.decide = [](bool, const std::string&) { return internal_error("no weights"); };
  EXPECT_EQ(load("a"), "failed to load 'a', failed to poll from model repository: no weights");
  catalog_.read = [](const Status&) { return true; };
  EXPECT_EQ(load("a"), "load failed for model 'a': no weights\n");
}

TEST_F(ExplicitPluginTest, FilesCanBeSwitchedOff) {
  host_.options().set_bool("allow_file_override", false);
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(load("a", {config("{}"), file("1/x", "")}),
            "loading a model from files that come with the call is switched off on this server");
  EXPECT_EQ(load("a", {config("{}")}), "OK");
}

TEST_F(ExplicitPluginTest, OverridesInHandAreBounded) {
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(load("a", {config("{}"), file("1/x", std::string(95, 'x'))}), "OK") << "100 bytes";
  EXPECT_EQ(
      load("a", {config("{}"), file("1/x", std::string(96, 'x'))}),
      "the load of model 'a' brings 101 bytes while 0 bytes of other loads are in hand, at most 100 in all "
      "are accepted");
  std::string within = "(none)";
  catalog_.read = [&](const Status& status) {
    catalog_.read = nullptr;
    within = load("b", {config(std::string(60, ' '))});
    return status.ok();
  };
  EXPECT_EQ(load("a", {config(std::string(60, ' '))}), "OK");
  EXPECT_NE(within.find("while 60 bytes of other loads are in hand"), std::string::npos) << within;
  EXPECT_EQ(load("b", {config(std::string(60, ' '))}), "OK") << "what ended no longer counts";
}

TEST_F(ExplicitPluginTest, AServerThatIsNotReadyOrExitsRefuses) {
  ASSERT_TRUE(start().ok());
  host_.run_ready();
  catalog_.is_live = false;
  EXPECT_EQ(load("a"), "Server not ready");
  EXPECT_EQ(unload("a"), "Server not ready");
  catalog_.set_exiting(true);
  EXPECT_EQ(load("a"), "Server exiting");
  catalog_.set_exiting(false);
  catalog_.is_live = true;
  host_.gate().close();
  EXPECT_EQ(load("a"), "Server exiting");
  EXPECT_EQ(unload("a"), "Server exiting");
  host_.gate().open();
}

TEST_F(ExplicitPluginTest, APassIsHeldUntilTheAnswer) {
  ASSERT_TRUE(start().ok());
  host_.run_ready();
  int64_t inside = 0;
  catalog_.read = [&](const Status& status) {
    inside = host_.gate().count();
    EXPECT_EQ(plugin_->holding(), "loads or unloads that have not ended");
    return status.ok();
  };
  EXPECT_EQ(load("a"), "OK");
  EXPECT_EQ(inside, 1);
  EXPECT_EQ(plugin_->holding(), "");
}

TEST_F(ExplicitPluginTest, AFailedStartLetsGoOfEverything) {
  host_.gate().close();
  EXPECT_EQ(start().code(), Code::kUnavailable);
  EXPECT_EQ(host_.registry().holders(), 0u);
  host_.gate().open();
}

}  // namespace
}  // namespace atl::control

namespace atl::test {
namespace {

/// A started plugin and the repository it works with.
struct StartedExplicit {
  explicit StartedExplicit(FakeHost& host) {
    control::set_options(host, {});
    repository.put("alpha");
    host.registry().publish<Repository>("repository", repository);
    plugin = std::make_unique<control::ExplicitPlugin>(host);
    EXPECT_TRUE(is_ok(plugin->start()));
  }
  ~StartedExplicit() { plugin->stop(); }
  FakeRepository repository;
  std::unique_ptr<control::ExplicitPlugin> plugin;
};

ModelControlProvider explicit_control() {
  ModelControlProvider provider;
  provider.name = "explicit";
  provider.mode = "explicit";
  provider.make = [](FakeHost& host) {
    auto started = std::make_shared<StartedExplicit>(host);
    auto* control = &started->plugin->control();
    return std::shared_ptr<ModelControl>(started, control);
  };
  return provider;
}

INSTANTIATE_TEST_SUITE_P(Explicit, ModelControlConformance, ::testing::Values(explicit_control()));

}  // namespace
}  // namespace atl::test
