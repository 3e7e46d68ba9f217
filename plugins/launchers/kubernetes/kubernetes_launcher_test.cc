#include "launchers/kubernetes/kubernetes_launcher.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "atoll/testing/conformance/launcher.h"
#include "launchers/kubernetes/testing/launcher_world.h"

namespace atl::launchers {
namespace {

/// What was said of the only server, with why.
class ToldServer final : public LauncherListener {
 public:
  virtual ~ToldServer() = default;
  void server_running(std::string_view, const ServerAddress& at) noexcept override {
    ++running;
    address = at;
  }
  void server_ended(std::string_view, Status why) noexcept override {
    ++ended;
    reason = std::move(why);
  }
  int running = 0, ended = 0;
  ServerAddress address;
  Status reason;
};

class KubernetesLauncherTest : public ::testing::Test {
 protected:
  bool runs() {
    return world_.wait([&] { return told_.running == 1; });
  }
  bool ends() {
    return world_.wait([&] { return told_.ended == 1; });
  }
  void launch(const std::string& runtime = {}) {
    ServerSpec spec = LauncherWorld::spec("a");
    spec.runtime = runtime;
    world_.launcher->launch(spec, told_);
  }
  void has_no_pod() {
    EXPECT_TRUE(world_.wait([&] { return world_.cluster.pods.empty(); }));
    EXPECT_EQ(told_.ended, 1);
  }
  bool becomes_there() {
    return world_.wait([&] { return world_.cluster.has_pod("a"); });
  }
  size_t count_calls(std::string_view text) const {
    size_t count = 0;
    for (const std::string& call : world_.cluster.calls) count += call.find(text) != std::string::npos;
    return count;
  }

  LauncherWorld world_;
  FakeCluster& cluster_ = world_.cluster;
  ToldServer told_;
  const std::string name_ = FakeCluster::name_of("a");
};

TEST_F(KubernetesLauncherTest, AServerIsAPodWithASecret) {
  launch("keyed");
  ASSERT_TRUE(runs());
  EXPECT_EQ(told_.address.http.text(), "10.0.0.1:8000");
  EXPECT_EQ(told_.address.grpc.text(), "10.0.0.1:8001");
  EXPECT_EQ(cluster_.pod_of("a")["spec"]["containers"][0]["command"], (Json{"server", "--key=$(ATOLL_KEY)"}));
  EXPECT_EQ(json_text(cluster_.pod_of("a")).find("secret-key"), std::string::npos);
  EXPECT_EQ(cluster_.secrets.at(name_)["stringData"]["ATOLL_KEY"], "secret-key");
  world_.launcher->end("a");
  ASSERT_TRUE(ends());
  EXPECT_TRUE(told_.reason.ok()) << told_.reason.text();
  has_no_pod();
}

TEST_F(KubernetesLauncherTest, WhatTheClusterRefusesIsRefused) {
  cluster_.refusal = HttpAnswer{403, R"({"message":"exceeded quota: gpus"})", {""}};
  launch();
  ASSERT_TRUE(ends());
  EXPECT_EQ(told_.reason.code(), Code::kResourceExhausted);
  EXPECT_NE(told_.reason.text().find("exceeded quota: gpus"), std::string::npos);
  cluster_.refusal = HttpAnswer{422, R"({"message":"spec.x: Invalid value"})", {""}};
  launch();
  ASSERT_TRUE(world_.wait([&] { return told_.ended == 2; }));
  EXPECT_EQ(told_.reason.code(), Code::kInvalidArgument);
  launch("unheard-of");
  ASSERT_TRUE(world_.wait([&] { return told_.ended == 3; }));
  EXPECT_EQ(told_.reason.code(), Code::kInvalidArgument);
  EXPECT_TRUE(cluster_.pods.empty());
}

TEST_F(KubernetesLauncherTest, ABusyClusterIsAskedAgainWhenItSays) {
  cluster_.refusal = HttpAnswer{429, R"({"message":"too many requests"})", {"20"}};
  launch();
  const int64_t begun_ns = world_.clock.now_ns();
  ASSERT_TRUE(runs());
  EXPECT_GE(world_.clock.now_ns() - begun_ns, 20 * kNsPerSecond);
}

TEST_F(KubernetesLauncherTest, ASecretThatMayNotBeMadeEndsTheServer) {
  launch();
  ASSERT_TRUE(becomes_there());
  cluster_.refusal = HttpAnswer{403, R"({"message":"cannot create secrets"})", {""}};
  ASSERT_TRUE(ends());
  EXPECT_EQ(told_.reason.code(), Code::kInvalidArgument);
  EXPECT_NE(
      told_.reason.text().find("its secret: the cluster does not allow it: HTTP 403: cannot create secrets"),
      std::string::npos)
      << told_.reason.text();
  has_no_pod();
}

TEST_F(KubernetesLauncherTest, APodThatNoNodeHasRoomForIsDeletedInTheEnd) {
  cluster_.is_full = true;
  launch();
  ASSERT_TRUE(ends());
  EXPECT_EQ(told_.reason.code(), Code::kResourceExhausted);
  EXPECT_NE(told_.reason.text().find("Unschedulable: 0/3 nodes are available"), std::string::npos);
  EXPECT_GE(world_.clock.now_ns(), 60 * kNsPerSecond);
  has_no_pod();
}

TEST_F(KubernetesLauncherTest, AnImageThatDoesNotComeEndsItInTheEnd) {
  cluster_.starts_pods = false;
  launch();
  ASSERT_TRUE(becomes_there());
  cluster_.wait(name_, "ImagePullBackOff", "no such image");
  ASSERT_TRUE(ends());
  EXPECT_EQ(told_.reason.code(), Code::kUnavailable);
  EXPECT_NE(told_.reason.text().find("ImagePullBackOff: no such image"), std::string::npos);
  has_no_pod();
}

TEST_F(KubernetesLauncherTest, WhatCanNeverRunEndsAtOnce) {
  cluster_.starts_pods = false;
  launch();
  ASSERT_TRUE(becomes_there());
  cluster_.wait(name_, "InvalidImageName", "a:b:c");
  const int64_t begun_ns = world_.clock.now_ns();
  ASSERT_TRUE(ends());
  EXPECT_EQ(told_.reason.code(), Code::kInvalidArgument);
  EXPECT_LT(world_.clock.now_ns() - begun_ns, 5 * kNsPerSecond);
  has_no_pod();
}

TEST_F(KubernetesLauncherTest, AServerThatFailsSaysWhatItSaidLast) {
  cluster_.log = "one\ntwo\nthree\nno licence\n\n";
  launch();
  ASSERT_TRUE(runs());
  cluster_.fail(name_, 3);
  ASSERT_TRUE(ends());
  EXPECT_EQ(told_.reason.code(), Code::kUnavailable);
  EXPECT_EQ(told_.reason.text(),
            cat("pod ", name_, ": its server ended with exit code 3: two | three | no licence"));
  EXPECT_TRUE(std::filesystem::exists(world_.directory.path() / "fraud-i0.failed.log"));
  has_no_pod();
}

TEST_F(KubernetesLauncherTest, WhatWasLostWhileNobodyWatchedIsFoundMissing) {
  launch();
  ASSERT_TRUE(runs());
  cluster_.break_watch();
  cluster_.pods.clear();
  cluster_.forget_events();
  ASSERT_TRUE(ends());
  EXPECT_EQ(told_.reason.code(), Code::kUnavailable);
  EXPECT_NE(told_.reason.text().find("its pod was deleted"), std::string::npos);
}

TEST_F(KubernetesLauncherTest, AWatchThatBreaksGoesOnFromItsVersion) {
  launch();
  ASSERT_TRUE(runs());
  const size_t lists = count_calls("GET /api/v1/namespaces/serving/pods?");
  cluster_.break_watch();
  ASSERT_TRUE(world_.wait([&] { return count_calls("WATCH") == 2; }));
  cluster_.fail(name_, 1);
  ASSERT_TRUE(ends());
  EXPECT_EQ(count_calls("GET /api/v1/namespaces/serving/pods?"), lists);
}

TEST_F(KubernetesLauncherTest, WhileTheClusterIsAwayNothingIsLost) {
  launch();
  ASSERT_TRUE(runs());
  cluster_.is_away = true;
  cluster_.break_watch();
  ToldServer second;
  world_.launcher->launch(LauncherWorld::spec("b"), second);
  world_.launcher->end("a");
  ASSERT_TRUE(world_.wait([&] { return world_.log.contains("servers are left as they are"); }));
  world_.executors.run_for(300 * kNsPerSecond);
  EXPECT_EQ(told_.ended + second.running + second.ended, 0);
  cluster_.is_away = false;
  ASSERT_TRUE(ends());
  EXPECT_TRUE(told_.reason.ok());
  ASSERT_TRUE(world_.wait([&] { return second.running == 1; }));
  EXPECT_TRUE(world_.log.contains("the cluster answers again"));
  world_.launcher->forget(second);
}

TEST_F(KubernetesLauncherTest, PodsAreFoundAgainByTheirNames) {
  launch();
  ASSERT_TRUE(runs());
  world_.restart();
  ToldServer after, gone;
  world_.launcher->adopt(LauncherWorld::spec("a"), after);
  world_.launcher->adopt(LauncherWorld::spec("b"), gone);
  ASSERT_TRUE(world_.wait([&] { return after.running == 1 && gone.ended == 1; }));
  EXPECT_EQ(after.address.http.text(), told_.address.http.text());
  EXPECT_EQ(gone.reason.code(), Code::kNotFound);
  EXPECT_EQ(count_calls("POST /api/v1/namespaces/serving/pods"), 1u);
  world_.launcher->end("a");
  ASSERT_TRUE(world_.wait([&] { return after.ended == 1; }));
}

TEST_F(KubernetesLauncherTest, APodThatHasEndedMeanwhileIsNotFoundAndDeleted) {
  launch();
  ASSERT_TRUE(runs());
  world_.end_process();
  cluster_.fail(name_, 1);
  world_.restart();
  ToldServer after;
  world_.launcher->adopt(LauncherWorld::spec("a"), after);
  ASSERT_TRUE(world_.wait([&] { return after.ended == 1; }));
  EXPECT_EQ(after.reason.code(), Code::kNotFound);
  EXPECT_TRUE(world_.wait([&] { return cluster_.pods.empty(); }));
}

TEST_F(KubernetesLauncherTest, AnothersPodOfThatNameIsLeftAlone) {
  cluster_.pods[name_] = {{"metadata", {{"name", name_}, {"uid", "other"}}}};
  launch();
  ASSERT_TRUE(ends());
  EXPECT_EQ(told_.reason.code(), Code::kInvalidArgument);
  EXPECT_TRUE(cluster_.has_pod("a"));
}

TEST(LastLines, AreFewAndOnOneLine) {
  EXPECT_EQ(last_lines(""), "");
  EXPECT_EQ(last_lines("\n \n"), "");
  EXPECT_EQ(last_lines("one"), "one");
  EXPECT_EQ(last_lines("1\n2\n3\n4\n"), "2 | 3 | 4");
  EXPECT_EQ(last_lines("a\x01\tb"), "a  b");
  EXPECT_LE(last_lines(std::string(100'000, 'x')).size(), 500u);
}

}  // namespace
}  // namespace atl::launchers

namespace atl::test {
namespace {

class Pods final : public LauncherUnderTest {
 public:
  virtual ~Pods() = default;
  Launcher& launcher() override { return *world_.launcher; }
  ServerSpec server() override { return {}; }
  bool wait(const std::function<bool()>& is_true) override { return world_.wait(is_true); }

 private:
  launchers::LauncherWorld world_;
};

INSTANTIATE_TEST_SUITE_P(KubernetesPods, LauncherConformance,
                         ::testing::Values(LauncherProvider{
                             "pods of a fake cluster", [] { return std::make_shared<Pods>(); }, {}}));

}  // namespace
}  // namespace atl::test
