#include "control/poll/poll_plugin.h"

#include <memory>

#include "atoll/testing/conformance/model_control.h"
#include "atoll/testing/fake_repository.h"

namespace atl::control {
namespace {

constexpr int64_t kInterval = 15 * kNsPerSecond;
constexpr int64_t kSettle = kNsPerSecond;

class PollPluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_options(kInterval);
    host_.registry().publish<ModelCatalog>("models", catalog_);
    host_.registry().publish<Repository>("repository", repository_);
    put("a");
    put("b");
  }
  void TearDown() override {
    if (plugin_ != nullptr) plugin_->stop();
    EXPECT_EQ(host_.registry().holders(), 0u);
    EXPECT_EQ(host_.simulation().executors(), 0u);
    EXPECT_EQ(host_.gate().count(), 0);
  }
  void set_options(int64_t interval_ns, int64_t settle_ns = kSettle) {
    host_.options().set_duration_ns("interval", interval_ns).set_duration_ns("settle_time", settle_ns);
  }
  void put(const std::string& model) {
    repository_.put(model);
    repository_.touch(model, "1");
    catalog_.add_identity(model);
  }
  void start() {
    plugin_ = std::make_unique<PollPlugin>(host_);
    ASSERT_TRUE(plugin_->start().ok());
  }
  /// What was asked of the catalog since the last time, while so much time passes.
  std::vector<std::string> calls(int64_t after_ns) {
    host_.run_for(after_ns);
    std::vector<std::string> calls = catalog_.calls();
    calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(seen_));
    seen_ += calls.size();
    return calls;
  }

  using Calls = std::vector<std::string>;
  test::FakeHost host_;
  test::FakeModelCatalog catalog_;
  test::FakeRepository repository_;
  std::unique_ptr<PollPlugin> plugin_;
  size_t seen_ = 0;
};

TEST_F(PollPluginTest, EveryModelIsLoadedAtStart) {
  start();
  EXPECT_TRUE(catalog_.calls().empty()) << "start() does not wait";
  EXPECT_EQ(calls(0), (Calls{"load a", "load b"}));
  EXPECT_TRUE(catalog_.startup_complete);
  EXPECT_TRUE(host_.log().contains("start-up: 2 models loaded"));
  EXPECT_EQ(calls(10 * kInterval), Calls{}) << "nothing changes";
  EXPECT_EQ(repository_.looks("a"), 11u);
}

TEST_F(PollPluginTest, ChangesAreSeenAtTheIntervalAndFollowedWhenSettled) {
  start();
  calls(0);
  repository_.touch("a", "2");
  put("c");
  repository_.remove("b");
  EXPECT_EQ(calls(kInterval - 1), Calls{});
  EXPECT_EQ(calls(kSettle), Calls{});
  EXPECT_EQ(calls(1), (Calls{"unload b", "load a", "load c"}));
  EXPECT_EQ(calls(10 * kInterval), Calls{});
}

TEST_F(PollPluginTest, WhatIsStillBeingCopiedIsNotLoaded) {
  start();
  calls(0);
  put("big");
  EXPECT_EQ(calls(kInterval), Calls{});
  uint64_t looks_at_others = repository_.looks("a");
  for (int i = 0; i < 100; ++i) {
    repository_.touch("big", "1");
    EXPECT_EQ(calls(kSettle / 2), Calls{}) << i;
  }
  EXPECT_LE(repository_.looks("a") - looks_at_others, 4u) << "others are looked at at the interval only";
  EXPECT_EQ(calls(2 * kSettle), Calls{"load big"});
}

TEST_F(PollPluginTest, FailuresAreRetriedAtTheInterval) {
  catalog_.decide = [](bool load, const std::string& model) {
    return load && model == "b" ? internal_error("no weights") : Status();
  };
  start();
  EXPECT_EQ(calls(0), (Calls{"load a", "load b"}));
  EXPECT_TRUE(catalog_.startup_complete) << "a failed model leaves the others serving";
  EXPECT_EQ(calls(3 * kInterval), (Calls{"load b", "load b", "load b"}));
  catalog_.decide = nullptr;
  EXPECT_EQ(calls(3 * kInterval), Calls{"load b"});
}

TEST_F(PollPluginTest, ARepositoryThatCanNotBeListedChangesNothing) {
  start();
  calls(0);
  repository_.fail(Code::kUnavailable, "/srv: Input/output error");
  EXPECT_EQ(calls(5 * kInterval), Calls{});
  EXPECT_EQ(
      host_.log().count(LogLevel::kError, "failed to poll the model repositories: /srv: Input/output error"),
      1u)
      << "logged once";
  repository_.fail(Code::kOk);
  repository_.remove("a");
  EXPECT_EQ(calls(kInterval + kSettle), Calls{"unload a"});
  EXPECT_EQ(host_.log().count(LogLevel::kInfo, "the model repositories can be listed again"), 1u);
}

TEST_F(PollPluginTest, ARepositoryThatIsNotThereAtStartIsWaitedFor) {
  for (int64_t interval : {kInterval, int64_t{0}}) {
    set_options(interval);
    repository_.fail(Code::kUnavailable, "/srv: not mounted");
    start();
    calls(0);
    EXPECT_FALSE(catalog_.startup_complete);
    repository_.fail(Code::kOk);
    EXPECT_EQ(calls(kInterval), (Calls{"load a", "load b"}));
    EXPECT_TRUE(catalog_.startup_complete);
    plugin_->stop();
    plugin_.reset();
    catalog_.startup_complete = false;
  }
}

TEST_F(PollPluginTest, AModelThatCanNotBeLookedAtKeepsServing) {
  start();
  calls(0);
  repository_.set_twice("a", true);
  EXPECT_EQ(calls(5 * kInterval), Calls{});
  EXPECT_EQ(
      host_.log().count(LogLevel::kError,
                        "failed to poll model 'a': not unique across all model repositories; what was loaded "
                        "before keeps serving"),
      1u);
  repository_.set_twice("a", false);
  EXPECT_EQ(calls(5 * kInterval), Calls{});
}

TEST_F(PollPluginTest, WithoutAnIntervalOneLookIsAll) {
  set_options(0);
  start();
  EXPECT_EQ(calls(0), (Calls{"load a", "load b"}));
  put("c");
  EXPECT_EQ(calls(1000 * kInterval), Calls{});
  EXPECT_EQ(host_.simulation().pending_timers(), 0u);
}

TEST_F(PollPluginTest, WhoAsksIsAnsweredWhenWhatThereIsIsLoaded) {
  start();
  calls(0);
  put("c");
  repository_.remove("b");
  std::string answer = "(none)";
  auto answered = [&](Status status) { answer = status.text(); };
  plugin_->repository_poll().poll(answered);
  EXPECT_EQ(answer, "(none)") << "nobody blocks";
  EXPECT_EQ(calls(0), (Calls{"unload b", "load c"})) << "at once, whatever the settle time";
  EXPECT_EQ(answer, "OK");
  repository_.fail(Code::kUnavailable, "/srv: Input/output error");
  plugin_->repository_poll().poll(answered);
  calls(0);
  EXPECT_EQ(answer, "/srv: Input/output error");
}

TEST_F(PollPluginTest, PollsThatAreAskedForLeaveTheIntervalAsItIs) {
  start();
  calls(0);
  int answers = 0;
  for (int i = 0; i < 3; ++i) plugin_->repository_poll().poll([&](Status) { ++answers; });
  calls(0);
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(host_.simulation().pending_timers(), 1u);
  const uint64_t looks = repository_.looks("a");
  calls(10 * kInterval);
  EXPECT_EQ(repository_.looks("a"), looks + 10);
}

TEST_F(PollPluginTest, WithoutAnIntervalOneMayBeAskedFor) {
  set_options(0);
  start();
  calls(0);
  put("c");
  plugin_->repository_poll().poll([](Status) {});
  EXPECT_EQ(calls(0), Calls{"load c"});
  EXPECT_EQ(host_.simulation().pending_timers(), 0u);
}

TEST_F(PollPluginTest, WhoAsksADrainingInstanceIsForgotten) {
  start();
  calls(0);
  host_.gate().close();
  auto held = std::make_shared<int>();
  plugin_->repository_poll().poll([held](Status) { FAIL(); });
  calls(0);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(PollPluginTest, ADrainingInstanceLooksNoMore) {
  start();
  calls(0);
  host_.gate().close();
  put("c");
  EXPECT_EQ(calls(10 * kInterval), Calls{});
  EXPECT_EQ(plugin_->holding(), "");
}

TEST_F(PollPluginTest, APassIsHeldWhileModelsLoad) {
  int64_t inside = 0;
  catalog_.decide = [&](bool, const std::string&) {
    inside = host_.gate().count();
    return Status();
  };
  start();
  calls(0);
  EXPECT_EQ(inside, 1);
  EXPECT_EQ(host_.gate().count(), 0);
}

TEST_F(PollPluginTest, AStopDropsWhatHasNotBegun) {
  start();
  plugin_->stop();
  EXPECT_EQ(calls(kInterval), Calls{});
}

TEST_F(PollPluginTest, AFailedStartLetsGoOfEverything) {
  host_.simulation().refuse_creates(1);
  PollPlugin without_thread(host_);
  EXPECT_EQ(without_thread.start().code(), Code::kResourceExhausted);
  EXPECT_EQ(host_.registry().holders(), 0u);
  host_.registry().withdraw(std::string(Repository::kInterfaceId), "repository");
  PollPlugin without_repository(host_);
  EXPECT_EQ(without_repository.start().code(), Code::kNotFound);
  EXPECT_EQ(host_.registry().holders(), 0u);
}

}  // namespace
}  // namespace atl::control

namespace atl::test {
namespace {

/// A started plugin and the repository it works with.
struct StartedPoll {
  explicit StartedPoll(FakeHost& host) {
    host.options().set_duration_ns("interval", kNsPerSecond).set_duration_ns("settle_time", 0);
    repository.put("alpha");
    repository.touch("alpha", "1");
    host.registry().publish<Repository>("repository", repository);
    plugin = std::make_unique<control::PollPlugin>(host);
    EXPECT_TRUE(is_ok(plugin->start()));
  }
  ~StartedPoll() { plugin->stop(); }
  FakeRepository repository;
  std::unique_ptr<control::PollPlugin> plugin;
};

ModelControlProvider poll() {
  ModelControlProvider provider;
  provider.name = "poll";
  provider.mode = "poll";
  provider.make = [](FakeHost& host) {
    auto started = std::make_shared<StartedPoll>(host);
    auto* control = &started->plugin->control();
    return std::shared_ptr<ModelControl>(started, control);
  };
  return provider;
}

INSTANTIATE_TEST_SUITE_P(Poll, ModelControlConformance, ::testing::Values(poll()));

}  // namespace
}  // namespace atl::test
