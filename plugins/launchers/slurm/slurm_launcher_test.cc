#include "launchers/slurm/slurm_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "atoll/testing/conformance/launcher.h"
#include "atoll/testing/fake_log.h"
#include "atoll/testing/temporary_directory.h"
#include "atoll/testing/thread_executor.h"
#include "launchers/slurm/command.h"

namespace atl::launchers {
namespace {

using test::RecordedServers;

constexpr std::string_view kPlaces[] = {"repository", "host", "key"};

/// Slurm's programs as scripts, whose jobs are processes: job N is the folder jobs/N with name, state and process.
class FakeSlurm {
 public:
  FakeSlurm() {
    std::filesystem::create_directories(path("jobs"));
    write("sbatch", R"sh(
[ -e "$S/away" ] && { echo "sbatch: error: Unable to contact slurm controller" >&2; exit 1; }
[ -s "$S/refusal" ] && { cat "$S/refusal" >&2; exit 1; }
for a in "$@"; do case $a in --job-name=*) name=${a#*=};; --output=*) out=${a#*=};; esac; done
n=$(($(ls "$S/jobs" | wc -l) + 1)); job="$S/jobs/$n"; mkdir "$job"; cat > "$job/script"; echo "$@" > "$job/options"
echo "$name" > "$job/name"
if [ -e "$S/full" ]; then echo PENDING > "$job/state"; else
  setsid sh "$job/script" >> "$out" 2>&1 </dev/null & echo $! > "$job/process"; echo RUNNING > "$job/state"
fi
echo $n)sh");
    write("squeue", R"sh(
[ -e "$S/away" ] && { echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; }
for job in "$S"/jobs/*; do
  [ -d "$job" ] || continue
  read -r state < "$job/state"; read -r name < "$job/name"
  if [ $state = RUNNING ] && ! kill -0 "$(cat "$job/process")" 2>/dev/null; then state=FAILED; echo FAILED > "$job/state"; fi
  echo "${job##*/}|$name|$state|Resources|n0"
done)sh");
    write("scancel", R"sh(
[ -e "$S/away" ] && exit 1
for job in "$S"/jobs/*; do
  [ -d "$job" ] && [ "--name=$(cat "$job/name")" = "$1" ] || continue
  case $(cat "$job/state") in
    RUNNING) kill -9 "$(cat "$job/process")"; echo CANCELLED > "$job/state" ;;
    PENDING) echo CANCELLED > "$job/state" ;;
  esac
done
exit 0)sh");
    ::setenv("S", directory_.path().c_str(), 1);
    static const std::string before = std::getenv("PATH");
    ::setenv("PATH", cat(path("bin"), ":", before).c_str(), 1);
  }
  ~FakeSlurm() {
    for (const auto& job : std::filesystem::directory_iterator(path("jobs"))) {
      std::ifstream file(job.path() / "process");
      if (pid_t process = 0; file >> process) ::kill(process, SIGKILL);
    }
  }
  FakeSlurm(const FakeSlurm&) = delete;
  FakeSlurm& operator=(const FakeSlurm&) = delete;

  std::string path(const std::string& name) const { return directory_.path() / name; }
  /// Of the test's switches: "away", "full", "refusal".
  void set(const std::string& name, const std::string& text = {}) const { std::ofstream(path(name)) << text; }
  void unset(const std::string& name) const { std::filesystem::remove(path(name)); }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t job_count() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path("jobs")), {}));
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(path("bin"));
    std::ofstream(path("bin/" + name)) << "#!/bin/sh" << text << "\n";
    ::chmod(path("bin/" + name).c_str(), 0755);
  }
  test::TemporaryDirectory directory_;
};

SlurmSettings settings_in(const std::string& directory) {
  SlurmSettings settings;
  settings.state_directory = directory;
  const auto add = [&](const char* name, const char* text) {
    settings.runtimes.emplace(name, std::move(InstanceCommand::parse(text, kPlaces)).value());
  };
  add("server",
      "sh -c \"echo Started GRPCInferenceService at {host}:2; echo Started HTTPService at {host}:1; exec sleep 1000\"");
  add("broken", "sh -c \"echo no licence; exit 3\"");
  settings.default_runtime = "server";
  settings.poll_interval_ns = 50 * kNsPerMs;
  settings.queue_timeout_ns = 60 * kNsPerSecond;
  settings.command_timeout_ns = 30 * kNsPerSecond;
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

class SlurmLauncherTest : public ::testing::Test {
 protected:
  SlurmLauncherTest() { restart(); }
  ~SlurmLauncherTest() override { launcher_->stop(); }
  void restart() {
    if (launcher_ != nullptr) {
      launcher_->forget(servers_);
      launcher_->stop();
    }
    launcher_ = std::make_unique<SlurmLauncher>(settings_, "/bin", threads_.clock(), log_);
    ASSERT_TRUE(launcher_->start(threads_).ok());
  }
  static ServerSpec spec(const std::string& id, const std::string& runtime = {}) {
    ServerSpec spec;
    spec.id = id;
    spec.pool = "fraud";
    spec.runtime = runtime;
    spec.repository = "/models";
    return spec;
  }
  bool heard(const std::string& what) {
    return wait_until([&] { return servers_.has_heard(what); });
  }

  FakeSlurm slurm_;
  test::TemporaryDirectory directory_;
  test::ThreadExecutors threads_;
  test::RecordingLog log_;
  RecordedServers servers_;
  SlurmSettings settings_ = settings_in(directory_.path());
  std::unique_ptr<SlurmLauncher> launcher_;
};

TEST_F(SlurmLauncherTest, AJobHasWhatTheServerAsksFor) {
  settings_.sbatch_options = {"--partition=gpu"};
  restart();
  ServerSpec server = spec("a");
  server.cpus = 4;
  server.gpus = 2;
  server.memory_bytes = (uint64_t{1} << 30) + 1;
  launcher_->launch(server, servers_);
  ASSERT_TRUE(heard("running a"));
  EXPECT_EQ(servers_.address().http.text(), "127.0.0.1:1");
  EXPECT_EQ(servers_.address().grpc.text(), "127.0.0.1:2");
  const std::string options = slurm_.read("jobs/1/options");
  for (const char* option : {"--job-name=atoll-a", "--cpus-per-task=4", "--gres=gpu:2", "--mem=1025M",
                             "--partition=gpu", "--no-requeue"})
    EXPECT_THAT(options, ::testing::HasSubstr(option));
}

TEST_F(SlurmLauncherTest, AServerThatEndsSaysWhyAndKeepsItsLog) {
  launcher_->launch(spec("a", "broken"), servers_);
  ASSERT_TRUE(heard("ended a"));
  EXPECT_EQ(servers_.reason(), Code::kUnavailable);
  EXPECT_TRUE(log_.contains("its job 1 has ended on node n0 (FAILED): no licence"));
  EXPECT_TRUE(std::filesystem::exists(directory_.path() / "fraud-i0.failed.log"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "a"));
}

TEST_F(SlurmLauncherTest, WhatSlurmRefusesIsRefused) {
  slurm_.set("refusal", "sbatch: error: Requested node configuration is not available");
  launcher_->launch(spec("a"), servers_);
  ASSERT_TRUE(heard("ended a"));
  EXPECT_EQ(servers_.reason(), Code::kInvalidArgument);
  slurm_.unset("refusal");
  launcher_->launch(spec("b", "unheard-of"), servers_);
  ASSERT_TRUE(heard("ended b"));
  EXPECT_EQ(servers_.reason(), Code::kInvalidArgument);
  launcher_->launch(spec("../c"), servers_);
  ASSERT_TRUE(heard("ended ../c"));
  EXPECT_EQ(slurm_.job_count(), 0u);
}

TEST_F(SlurmLauncherTest, AJobThatWaitsTooLongIsCancelled) {
  settings_.queue_timeout_ns = 100 * kNsPerMs;
  restart();
  slurm_.set("full");
  launcher_->launch(spec("a"), servers_);
  ASSERT_TRUE(heard("ended a"));
  EXPECT_EQ(servers_.reason(), Code::kResourceExhausted);
  EXPECT_EQ(slurm_.read("jobs/1/state"), "CANCELLED\n");
  EXPECT_TRUE(log_.contains("in Slurm's queue: Resources"));
}

TEST_F(SlurmLauncherTest, WhileSlurmIsAwayNothingIsLost) {
  launcher_->launch(spec("a"), servers_);
  ASSERT_TRUE(heard("running a"));
  slurm_.set("away");
  ASSERT_TRUE(wait_until([&] { return log_.contains("Slurm does not answer"); }));
  launcher_->launch(spec("b"), servers_);
  launcher_->end("a");
  EXPECT_FALSE(wait_until([&] { return servers_.heard().size() > 1; }, std::chrono::seconds(1)));
  slurm_.unset("away");
  ASSERT_TRUE(heard("running b"));
  ASSERT_TRUE(heard("ended a"));
  EXPECT_TRUE(log_.contains("Slurm answers again"));
  EXPECT_EQ(slurm_.job_count(), 2u);
}

TEST_F(SlurmLauncherTest, JobsAreFoundAgainByTheirNames) {
  launcher_->launch(spec("a"), servers_);
  ASSERT_TRUE(heard("running a"));
  restart();
  RecordedServers after;
  launcher_->adopt(spec("a"), after);
  ASSERT_TRUE(wait_until([&] { return after.has_heard("running a"); }));
  EXPECT_EQ(slurm_.job_count(), 1u);
  launcher_->end("a");
  ASSERT_TRUE(wait_until([&] { return after.has_heard("ended a"); }));
  launcher_->adopt(spec("a"), after);
  ASSERT_TRUE(wait_until([&] { return after.heard().size() == 3; }));
  EXPECT_EQ(after.reason(), Code::kNotFound);
  launcher_->forget(after);
}

TEST(Command, HasInputOutputAndATimeLimit) {
  const auto run = [](std::vector<std::string> words, const std::string& input = {}) {
    return run_command(words, input, {"X=1"}, 30 * kNsPerSecond);
  };
  const Result<CommandOutput> copied = run({"cat"}, std::string(100'000, 'x'));
  ASSERT_TRUE(copied.ok());
  EXPECT_EQ(copied.value().output, std::string(100'000, 'x'));
  const Result<CommandOutput> failed = run({"sh", "-c", "echo $X; echo one >&2; echo two >&2; exit 3"});
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed.value().status, 3);
  EXPECT_EQ(failed.value().output, "1\n");
  EXPECT_EQ(failed.value().errors, "two");
  EXPECT_EQ(run({"head", "-c", "17000000", "/dev/zero"}).status().message(), "head prints more than 16 MiB");
  EXPECT_EQ(run({"/nowhere"}).status().code(), Code::kUnavailable);
  EXPECT_EQ(run_command({"sleep", "1000"}, {}, {}, 10 * kNsPerMs).status().message(),
            "sleep did not end in 10 ms");
}

}  // namespace
}  // namespace atl::launchers

namespace atl::test {
namespace {

class Jobs final : public LauncherUnderTest {
 public:
  Jobs() { EXPECT_TRUE(launcher_.start(threads_).ok()); }
  virtual ~Jobs() { launcher_.stop(); }
  Launcher& launcher() override { return launcher_; }
  ServerSpec server() override { return {}; }
  bool wait(const std::function<bool()>& is_true) override {
    return launchers::wait_until(is_true, std::chrono::seconds(5));
  }

 private:
  launchers::FakeSlurm slurm_;
  TemporaryDirectory directory_;
  ThreadExecutors threads_;
  RecordingLog log_;
  launchers::SlurmLauncher launcher_{launchers::settings_in(directory_.path()), "/bin", threads_.clock(),
                                     log_};
};

INSTANTIATE_TEST_SUITE_P(SlurmJobs, LauncherConformance,
                         ::testing::Values(LauncherProvider{
                             "jobs of a fake Slurm", [] { return std::make_shared<Jobs>(); }, {}}));

}  // namespace
}  // namespace atl::test
