#include "launchers/process/process_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "atoll/testing/conformance/launcher.h"
#include "atoll/testing/fake_log.h"
#include "atoll/testing/temporary_directory.h"
#include "atoll/testing/thread_executor.h"

namespace atl::launchers {
namespace {

using test::RecordedServers;
using ::testing::HasSubstr;

constexpr const char* kServer =
    "sh -c \"echo Started GRPCInferenceService at 127.0.0.1:2; echo Started HTTPService at 127.0.0.1:1; "
    "exec sleep 1000\"";

constexpr std::string_view kPlaces[] = {"repository", "pool", "http_port", "grpc_port"};

ProcessSettings settings_in(const std::string& directory) {
  ProcessSettings settings;
  settings.state_directory = directory;
  const auto add = [&](const char* name, const std::string& text) {
    settings.runtimes.emplace(name, std::move(InstanceCommand::parse(text, kPlaces)).value());
  };
  add("server", kServer);
  add("http_only", "sh -c \"echo Started HTTPService at 127.0.0.1:1; exec sleep 1000\"");
  add("ports", "sh -c \"echo {http_port} {grpc_port} {repository} {pool}; exec sleep 1000\"");
  add("broken", "sh -c \"echo starting; echo the disk is full >&2; exit 3\"");
  add("nothing", "/nowhere/server");
  add("stubborn",
      "sh -c \"trap '' TERM; echo Started HTTPService at 127.0.0.1:1; while :; do sleep 1000; done\"");
  add("environment",
      "sh -c \"echo gpus=$CUDA_VISIBLE_DEVICES address=$ATOLL__PLUGIN__X home=$HOME; exit 1\"");
  settings.default_runtime = "server";
  settings.machine = {{0, 1}, {"3", "5"}, uint64_t{1} << 30};
  settings.stop_timeout_ns = 30 * kNsPerSecond;
  settings.log_bytes_max = uint64_t{64} << 10;
  return settings;
}

bool wait_until(const std::function<bool()>& is_true, std::chrono::seconds limit = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class ProcessLauncherTest : public ::testing::Test {
 protected:
  ProcessLauncherTest() {
    ::signal(SIGPIPE, SIG_IGN);
    restart();
  }
  ~ProcessLauncherTest() override {
    settings_.end_with_server = true;
    restart();  // which finds those that the test has left
    launcher_->drain(true);
    launcher_->stop();
  }
  void restart() {
    if (launcher_ != nullptr) launcher_->stop();
    launcher_ = std::make_unique<ProcessLauncher>(settings_, "/bin", threads_.clock(), log_, gate_);
    const Status started = launcher_->start(threads_);
    ASSERT_TRUE(started.ok()) << started.text();
  }
  static ServerSpec spec(const std::string& id, const std::string& runtime = {}) {
    ServerSpec spec;
    spec.id = id;
    spec.pool = "fraud";
    spec.runtime = runtime;
    spec.repository = "/models";
    return spec;
  }
  bool runs(const std::string& id) {
    return wait_until([&] { return servers_.has_heard("running " + id); });
  }
  bool ends(const std::string& id) {
    return wait_until([&] { return servers_.has_heard("ended " + id); });
  }
  ProcessRecord record(const std::string& id) {
    return std::move(ProcessRecord::read(directory_.path() / id / "process")).value();
  }
  std::string text_of(const std::string& file) {
    std::ifstream in(directory_.path() / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  test::TemporaryDirectory directory_;
  test::ThreadExecutors threads_;
  test::RecordingLog log_;
  Gate gate_;
  RecordedServers servers_;
  ProcessSettings settings_ = settings_in(directory_.path());
  std::unique_ptr<ProcessLauncher> launcher_;
};

TEST_F(ProcessLauncherTest, AddressesAreThoseThatTheServerPrints) {
  launcher_->launch(spec("a"), servers_);
  ASSERT_TRUE(runs("a"));
  EXPECT_EQ(servers_.address().http.text(), "127.0.0.1:1");
  EXPECT_EQ(servers_.address().grpc.text(), "127.0.0.1:2");
  launcher_->launch(spec("b", "http_only"), servers_);
  ASSERT_TRUE(runs("b"));
  EXPECT_EQ(servers_.address().grpc.host, "");
}

TEST_F(ProcessLauncherTest, OrThePortsThatItWasGiven) {
  launcher_->launch(spec("a", "ports"), servers_);
  ASSERT_TRUE(runs("a"));
  const ServerAddress address = servers_.address();
  EXPECT_NE(address.http.port, address.grpc.port);
  ASSERT_TRUE(wait_until([&] { return !text_of("a/log").empty(); }));
  EXPECT_EQ(text_of("a/log"), cat(address.http.port, " ", address.grpc.port, " /models fraud\n"));
}

TEST_F(ProcessLauncherTest, AServerThatEndsByItselfSaysWhyAndKeepsItsLog) {
  launcher_->launch(spec("a", "broken"), servers_);
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(servers_.reason(), Code::kUnavailable);
  EXPECT_TRUE(log_.contains("it exited with status 3; its log ends: the disk is full"));
  EXPECT_EQ(text_of("fraud-i0.failed.log"), "starting\nthe disk is full\n");
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "a"));
  launcher_->launch(spec("b", "nothing"), servers_);
  ASSERT_TRUE(ends("b"));
  EXPECT_TRUE(log_.contains("/nowhere/server"));
  launcher_->launch(spec("c"), servers_);
  ASSERT_TRUE(runs("c"));
  ::kill(record("c").process.pid, SIGKILL);
  ASSERT_TRUE(ends("c"));
  EXPECT_TRUE(log_.contains("it was killed by signal 9 (Killed)"));
}

TEST_F(ProcessLauncherTest, WhatCanNotBeStartedIsRefused) {
  launcher_->launch(spec("a", "unheard-of"), servers_);
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(servers_.reason(), Code::kInvalidArgument);
  launcher_->launch(spec("../a"), servers_);
  ASSERT_TRUE(ends("../a"));
  EXPECT_EQ(servers_.reason(), Code::kInvalidArgument);
  ServerSpec large = spec("b");
  large.memory_bytes = uint64_t{1} << 29;
  launcher_->launch(large, servers_);
  ASSERT_TRUE(runs("b"));
  large.id = "c";
  large.memory_bytes += 1;
  launcher_->launch(large, servers_);
  ASSERT_TRUE(ends("c"));
  EXPECT_EQ(servers_.reason(), Code::kResourceExhausted);
  launcher_->end("b");
  ASSERT_TRUE(ends("b"));
  large.id = "d";
  launcher_->launch(large, servers_);
  EXPECT_TRUE(runs("d"));
}

TEST_F(ProcessLauncherTest, AServerHasItsCoresAndItsOwnEnvironment) {
  ServerSpec one = spec("a");
  one.cpus = 1;
  launcher_->launch(one, servers_);
  ASSERT_TRUE(runs("a"));
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(record("a").process.pid, sizeof set, &set), 0);
  EXPECT_EQ(CPU_COUNT(&set), 1);
  EXPECT_TRUE(CPU_ISSET(0, &set));
  ::setenv("ATOLL__PLUGIN__X", "secret", 1);
  ServerSpec other = spec("b", "environment");
  other.gpus = 2;
  launcher_->launch(other, servers_);
  ASSERT_TRUE(ends("b"));
  EXPECT_THAT(text_of("fraud-i0.failed.log"), HasSubstr("gpus=3,5 address= home=/"));
  ::unsetenv("ATOLL__PLUGIN__X");
}

TEST_F(ProcessLauncherTest, AServerThatDoesNotEndIsKilled) {
  settings_.stop_timeout_ns = 100 * kNsPerMs;
  restart();
  launcher_->launch(spec("a", "stubborn"), servers_);
  ASSERT_TRUE(runs("a"));
  const pid_t process = record("a").process.pid;
  launcher_->end("a");
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(servers_.reason(), Code::kOk);
  EXPECT_TRUE(log_.contains("did not end in 100 ms and is killed"));
  EXPECT_EQ(::kill(process, 0), -1);
}

TEST_F(ProcessLauncherTest, ServersAreFoundAgainAfterARestartWithTheirParts) {
  ServerSpec two = spec("a");
  two.cpus = 2;
  launcher_->launch(two, servers_);
  ASSERT_TRUE(runs("a"));
  const ServerAddress before = servers_.address();
  launcher_->forget(servers_);
  restart();
  RecordedServers after;
  ServerSpec one = spec("b");
  one.cpus = 1;
  launcher_->launch(one, after);
  ASSERT_TRUE(wait_until([&] { return after.has_heard("ended b"); }));
  EXPECT_EQ(after.reason(), Code::kResourceExhausted);
  launcher_->adopt(two, after);
  ASSERT_TRUE(wait_until([&] { return after.has_heard("running a"); }));
  EXPECT_EQ(after.address().http.text(), before.http.text());
  launcher_->end("a");
  ASSERT_TRUE(wait_until([&] { return after.has_heard("ended a"); }));
}

TEST_F(ProcessLauncherTest, AServerOfTheLauncherThatIsReplacedIsFoundWheneverItWasStarted) {
  std::filesystem::create_directory(directory_.path() / "begun");
  ProcessLauncher next(settings_, "/bin", threads_.clock(), log_, gate_);
  ASSERT_TRUE(next.start(threads_, /*is_alone=*/false).ok());
  EXPECT_TRUE(std::filesystem::exists(directory_.path() / "begun")) << "the other one is about to start it";
  launcher_->launch(spec("a"), servers_);
  ASSERT_TRUE(runs("a"));
  launcher_->forget(servers_);
  launcher_->stop();
  RecordedServers after;
  next.adopt(spec("a"), after);
  ASSERT_TRUE(wait_until([&] { return after.has_heard("running a"); }));
  next.end("a");
  ASSERT_TRUE(wait_until([&] { return after.has_heard("ended a"); }));
  next.forget(after);
  next.stop();
}

TEST_F(ProcessLauncherTest, AServerWhoseProcessIsAnotherOneNowIsNotFound) {
  launcher_->launch(spec("a"), servers_);
  ASSERT_TRUE(runs("a"));
  launcher_->forget(servers_);
  ProcessRecord changed = record("a");
  const pid_t process = changed.process.pid;
  launcher_->stop();
  changed.process.start_time += 1;
  ASSERT_TRUE(changed.write(directory_.path() / "a" / "process").ok());
  std::ofstream(directory_.path() / "stray") << "x";
  std::filesystem::create_directory(directory_.path() / "damaged");
  std::ofstream(directory_.path() / "damaged" / "process") << "{";
  launcher_.reset();
  restart();
  RecordedServers after;
  launcher_->adopt(spec("a"), after);
  ASSERT_TRUE(wait_until([&] { return after.has_heard("ended a"); }));
  EXPECT_EQ(after.reason(), Code::kNotFound);
  EXPECT_TRUE(log_.contains("server damaged is not found again"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "damaged"));
  EXPECT_EQ(::kill(process, SIGKILL), 0);  // it was let alone
}

TEST_F(ProcessLauncherTest, ServersEndWithThisOneIfTheyAreMeantTo) {
  settings_.end_with_server = true;
  restart();
  launcher_->launch(spec("a"), servers_);
  ASSERT_TRUE(runs("a"));
  EXPECT_EQ(gate_.count(), 1);
  launcher_->forget(servers_);
  launcher_->drain(false);
  ASSERT_TRUE(wait_until([&] { return gate_.count() == 0; }));
  EXPECT_TRUE(std::filesystem::exists(directory_.path() / "a")) << "only this launcher goes";
  restart();
  EXPECT_EQ(gate_.count(), 1);
  gate_.close();
  launcher_->drain(true);
  EXPECT_TRUE(wait_until([&] { return gate_.count() == 0; }));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "a"));
  gate_.open();
}

TEST_F(ProcessLauncherTest, AServerWithoutItsLimitOfMemoryIsNotStarted) {
  test::TemporaryDirectory no_group;
  settings_.cgroup = no_group.path();
  restart();
  ServerSpec limited = spec("a");
  limited.memory_bytes = uint64_t{64} << 20;
  launcher_->launch(limited, servers_);
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(servers_.reason(), Code::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "a"));
  EXPECT_TRUE(std::filesystem::is_empty(no_group.path()));
}

/// Where this user may make control groups of version 1; elsewhere nothing is limited, which is the other half of it.
TEST_F(ProcessLauncherTest, MemoryIsLimitedByAControlGroup) {
  const std::string group = cat("/sys/fs/cgroup/memory/atoll-test-", ::getpid());
  std::error_code error;
  std::filesystem::create_directory(group, error);
  settings_.cgroup = error ? "" : group;
  restart();
  ServerSpec limited = spec("a");
  limited.memory_bytes = uint64_t{64} << 20;
  launcher_->launch(limited, servers_);
  ASSERT_TRUE(runs("a"));
  if (!error) {
    std::ifstream limit(group + "/atoll-a/memory.limit_in_bytes"), processes(group + "/atoll-a/cgroup.procs");
    uint64_t bytes = 0;
    pid_t process = 0;
    limit >> bytes;
    processes >> process;
    EXPECT_EQ(bytes, limited.memory_bytes);
    EXPECT_EQ(process, record("a").process.pid);
  }
  launcher_->end("a");
  ASSERT_TRUE(ends("a"));
  EXPECT_FALSE(std::filesystem::exists(group + "/atoll-a"));
  std::filesystem::remove(group, error);
}

}  // namespace
}  // namespace atl::launchers

namespace atl::test {
namespace {

class Processes final : public LauncherUnderTest {
 public:
  Processes() {
    ::signal(SIGPIPE, SIG_IGN);
    EXPECT_TRUE(launcher_.start(threads_).ok());
  }
  virtual ~Processes() {
    launcher_.drain(true);
    launcher_.stop();
  }
  Launcher& launcher() override { return launcher_; }
  ServerSpec server() override { return {}; }
  bool wait(const std::function<bool()>& is_true) override {
    return launchers::wait_until(is_true, std::chrono::seconds(3));
  }

 private:
  TemporaryDirectory directory_;
  ThreadExecutors threads_;
  RecordingLog log_;
  Gate gate_;
  launchers::ProcessLauncher launcher_{launchers::settings_in(directory_.path()), "/bin", threads_.clock(),
                                       log_, gate_};
};

INSTANTIATE_TEST_SUITE_P(Processes, LauncherConformance,
                         ::testing::Values(LauncherProvider{
                             "processes", [] { return std::make_shared<Processes>(); }, {}}));

}  // namespace
}  // namespace atl::test
