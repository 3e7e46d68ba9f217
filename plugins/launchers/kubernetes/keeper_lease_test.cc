#include "launchers/kubernetes/keeper_lease.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <set>

#include "atoll/core/stop_executor.h"
#include "atoll/lib/rfc3339.h"
#include "atoll/testing/deterministic_executor.h"
#include "atoll/testing/fake_log.h"
#include "launchers/kubernetes/keeper_name.h"

namespace atl::launchers {
namespace {

constexpr const char* kPath = "/apis/coordination.k8s.io/v1/namespaces/n/leases";

HttpAnswer refusal(int status) { return {status, R"({"message":"no"})", {""}}; }

/// The one lease that there is. Whoever changes it has to have seen it as it is.
struct LeaseStore {
  std::optional<Json> lease;
  int version = 0;

  HttpAnswer serve(const ApiCall& call) {
    if (call.method == "POST") return lease ? refusal(409) : keep(parse_json(call.body), 201);
    if (!lease) return refusal(404);
    if (call.method == "GET") return {200, json_text(*lease), {""}};
    Json wanted = parse_json(call.body);
    const bool is_seen = wanted["metadata"]["resourceVersion"] == (*lease)["metadata"]["resourceVersion"];
    return is_seen ? keep(std::move(wanted), 200) : refusal(409);
  }
  HttpAnswer keep(Json wanted, int status) {
    wanted["metadata"]["resourceVersion"] = cat(++version);
    lease = std::move(wanted);
    return {status, json_text(*lease), {""}};
  }
  std::string holder() const { return lease ? text_at(*lease, {"spec", "holderIdentity"}) : "nobody"; }
};

/// A process, its way to the cluster, and its clock, which nobody shares.
class Keeper final : public ClusterCalls {
 public:
  Keeper(LeaseStore& store, test::DeterministicExecutors& executors, const std::string& name)
      : store_(store),
        executors_(executors),
        network_(std::move(executors.create("network", {})).value()),
        executor_(std::move(executors.create("keeper", {})).value()),
        lease(kPath, "0123", name, *this, executors.clock(), log) {
    executor_->post(make_task([this] { lease.start(*executor_, [this] { ++held; }); }));
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  virtual ~Keeper() {
    stop_executor(network_);
    stop_executor(executor_);
  }

  void call(ApiCall call, Done done) override {
    calls.push_back(cat(call.method, " ", call.path.substr(0, call.path.find('?'))));
    later([this, call = std::move(call), done = std::move(done)]() mutable {
      const bool is_lost = is_cut || executors_.random().chance(lost_percent);
      const bool answer_is_lost = executors_.random().chance(lost_percent);
      Result<HttpAnswer> answer =
          is_lost ? Result<HttpAnswer>(unavailable("nobody is there")) : store_.serve(call);
      if (answer_is_lost) answer = unavailable("lost");
      later([this, done = std::move(done), answer = std::move(answer)]() mutable {
        executor_->post(make_task(
            [done = std::move(done), answer = std::move(answer)]() mutable { done(std::move(answer)); }));
      });
    });
  }
  void watch(std::string, OnEvent, Done) override {}
  void end_watch() override {}

 private:
  template <class Work>
  void later(Work work) {
    const auto way_ns =
        1 + static_cast<int64_t>(executors_.random().below(static_cast<uint64_t>(longest_way_ns)));
    network_->post_at(executors_.clock().now_ns() + way_ns, make_task(std::move(work)));
  }

  LeaseStore& store_;
  test::DeterministicExecutors& executors_;
  SerialExecutorPtr network_, executor_;

 public:
  bool is_cut = false;
  uint32_t lost_percent = 0;
  int64_t longest_way_ns = kNsPerMs;
  int held = 0;
  std::vector<std::string> calls;
  test::RecordingLog log;
  KeeperLease lease;
};

class KeeperLeaseTest : public ::testing::Test {
 protected:
  std::unique_ptr<Keeper> keeper(const std::string& name) {
    return std::make_unique<Keeper>(store_, executors_, name);
  }
  void run_s(int64_t seconds) { executors_.run_for(seconds * kNsPerSecond); }

  test::FakeClock clock_;
  test::DeterministicExecutors executors_{clock_, 1};
  LeaseStore store_;
};

TEST_F(KeeperLeaseTest, TheFirstOneMakesItAndKeepsIt) {
  const auto first = keeper("a");
  run_s(1);
  EXPECT_TRUE(first->lease.is_held());
  EXPECT_EQ(first->calls, (std::vector<std::string>{cat("GET ", kPath, "/atoll-0123"), cat("POST ", kPath)}));
  const Json& spec = (*store_.lease)["spec"];
  EXPECT_EQ(text_at(spec, {"holderIdentity"}), "a");
  EXPECT_EQ(number_at(spec, {"leaseDurationSeconds"}), 15);
  EXPECT_EQ(number_at(spec, {"leaseTransitions"}), 0);
  ASSERT_TRUE(read_rfc3339(text_at(spec, {"renewTime"})).has_value()) << text_at(spec, {"renewTime"});
  EXPECT_EQ(text_at(spec, {"renewTime"}).size(), std::string_view("2001-09-09T01:46:41.000000Z").size());
  for (int i = 0; i < 100; ++i) {
    run_s(1);
    ASSERT_TRUE(first->lease.is_held());
  }
  EXPECT_GE(first->held, 15);
  EXPECT_LE(first->held, 25);
  EXPECT_EQ(first->log.count(LogLevel::kInfo, "this process keeps the pods"), 1u);
  EXPECT_NE(text_at((*store_.lease)["spec"], {"renewTime"}),
            text_at((*store_.lease)["spec"], {"acquireTime"}));
}

TEST_F(KeeperLeaseTest, AnotherOneWaitsUntilItHasStoodForItsTime) {
  auto first = keeper("a");
  run_s(1);
  const auto second = keeper("b");
  run_s(60);
  EXPECT_TRUE(first->lease.is_held());
  EXPECT_FALSE(second->lease.is_held());
  EXPECT_EQ(second->log.count(LogLevel::kWarning,
                              "until this process holds lease atoll-0123: 'a' keeps these pods"),
            1u);
  first.reset();
  run_s(9);
  EXPECT_FALSE(second->lease.is_held());
  run_s(11);
  EXPECT_TRUE(second->lease.is_held());
  EXPECT_EQ(store_.holder(), "b");
  EXPECT_EQ(number_at((*store_.lease)["spec"], {"leaseTransitions"}), 1);
}

TEST_F(KeeperLeaseTest, WhoeverIsCutOffDoesNotHoldItAnyMore) {
  const auto first = keeper("a"), second = keeper("b");
  run_s(1);
  Keeper& holder = first->lease.is_held() ? *first : *second;
  Keeper& other = first->lease.is_held() ? *second : *first;
  ASSERT_TRUE(holder.lease.is_held());
  holder.is_cut = true;
  run_s(11);
  EXPECT_FALSE(holder.lease.is_held());
  EXPECT_FALSE(other.lease.is_held());
  EXPECT_EQ(holder.log.count(LogLevel::kWarning, "nobody is there"), 1u);
  run_s(9);
  EXPECT_TRUE(other.lease.is_held());
  holder.is_cut = false;
  run_s(60);
  EXPECT_FALSE(holder.lease.is_held());
  EXPECT_TRUE(other.lease.is_held());
}

TEST_F(KeeperLeaseTest, WhatIsReleasedIsTakenAtOnce) {
  const auto first = keeper("a");
  run_s(1);
  const auto second = keeper("b");
  run_s(1);
  bool is_done = false;
  first->lease.release([&] { is_done = true; });
  EXPECT_FALSE(first->lease.is_held());
  run_s(3);
  EXPECT_TRUE(is_done);
  EXPECT_TRUE(second->lease.is_held());
  run_s(60);
  EXPECT_FALSE(first->lease.is_held()) << "it is not taken again";
  is_done = false;
  first->lease.release([&] { is_done = true; });
  EXPECT_TRUE(is_done) << "there is nothing to wait for";
}

TEST_F(KeeperLeaseTest, OneThatSomebodyDeletesIsMadeAgain) {
  const auto first = keeper("a");
  run_s(1);
  store_.lease.reset();
  run_s(8);
  EXPECT_TRUE(first->lease.is_held());
  EXPECT_EQ(store_.holder(), "a");
}

TEST_F(KeeperLeaseTest, WhatIsNoLeaseIsNotTaken) {
  store_.lease = Json::array({1});
  const auto first = keeper("a");
  run_s(60);
  EXPECT_FALSE(first->lease.is_held());
  EXPECT_EQ(first->log.count(LogLevel::kWarning, "the lease cannot be read"), 1u);
  store_.lease = {{"metadata", {{"resourceVersion", "x"}}},
                  {"spec", {{"holderIdentity", "c"}, {"leaseDurationSeconds", INT64_MAX}}}};
  run_s(3'000);
  EXPECT_FALSE(first->lease.is_held());
  store_.lease = {{"metadata", {{"resourceVersion", "y"}}},
                  {"spec", {{"holderIdentity", 7}, {"leaseTransitions", INT64_MAX}}}};
  run_s(5);
  EXPECT_TRUE(first->lease.is_held()) << "nobody has it";
}

TEST_F(KeeperLeaseTest, CallsThatChangeSomethingWaitForIt) {
  const auto first = keeper("a");
  run_s(1);
  const auto second = keeper("b");
  run_s(1);
  KeptCalls kept(*second, second->lease);
  std::string done;
  for (const char* method : {"POST", "GET", "DELETE"})
    kept.call({method, kPath, "{}"}, [&done, method](Result<HttpAnswer>) { done += cat(method, " "); });
  run_s(1);
  EXPECT_EQ(done, "GET ");
  first->lease.release([] {});
  run_s(3);
  ASSERT_TRUE(second->lease.is_held());
  EXPECT_EQ(done, "GET ");
  kept.resume();
  run_s(1);
  EXPECT_EQ(done.size(), std::string_view("GET POST DELETE ").size()) << done;
  kept.call({"POST", kPath, "{}"}, [&](Result<HttpAnswer>) { done = "at once"; });
  run_s(1);
  EXPECT_EQ(done, "at once");
}

TEST(KeeperHolder, IsAnotherOneEachTime) {
  std::set<std::string> all;
  for (int i = 0; i < 10; ++i) all.insert(unique_holder());
  EXPECT_EQ(all.size(), 10u);
}

/// Keepers come and go, are cut off, and lose answers; whatever happens, no two hold it at one time, and in the end one does.
std::string simulate(uint64_t seed) {
  test::FakeClock clock;
  test::DeterministicExecutors executors(clock, seed);
  LeaseStore store;
  std::array<std::unique_ptr<Keeper>, 3> keepers;
  int names = 0;
  test::Random& random = executors.random();
  const auto begin = [&](std::unique_ptr<Keeper>& keeper) {
    keeper = std::make_unique<Keeper>(store, executors, cat("k", ++names));
    keeper->lost_percent = seed % 3 == 0 ? 0 : 20;
    keeper->longest_way_ns = seed % 2 == 0 ? kNsPerMs : 4 * kNsPerSecond;
  };
  const auto count = [&] {
    int held = 0;
    for (const auto& keeper : keepers) held += keeper != nullptr && keeper->lease.is_held();
    return held;
  };
  const auto run = [&](int64_t limit_ns) {
    const int64_t end_ns = clock.now_ns() + limit_ns;
    while (executors.next_timer_ns() < end_ns || executors.run_ready(1) != 0) {
      if (!executors.step()) break;
      if (count() > 1) return false;
    }
    clock.advance_to(end_ns);
    return true;
  };
  for (int step = 0; step < 80; ++step) {
    std::unique_ptr<Keeper>& keeper = keepers[random.below(keepers.size())];
    switch (random.below(6)) {
      case 0:
        keeper.reset();
        break;
      case 1:
        if (keeper != nullptr) keeper->lease.release([] {});
        break;
      case 2:
        if (keeper != nullptr) keeper->is_cut = !keeper->is_cut;
        break;
      default:
        if (keeper == nullptr) begin(keeper);
    }
    if (!run(static_cast<int64_t>(random.below(12 * kNsPerSecond))))
      return cat("two hold it after step ", step);
  }
  for (auto& keeper : keepers) keeper.reset();
  for (auto& keeper : keepers) begin(keeper);
  for (auto& keeper : keepers) {
    keeper->lost_percent = 0;
    keeper->longest_way_ns = kNsPerMs;
  }
  if (!run(120 * kNsPerSecond)) return "two hold it in the end";
  return count() == 1 ? "" : "nobody holds it in the end";
}

TEST(KeeperLeaseSimulation, NeverHaveTwoTheLease) {
  for (uint64_t seed = 1; seed <= 50; ++seed) ASSERT_EQ(simulate(seed), "") << "seed " << seed;
}

}  // namespace
}  // namespace atl::launchers
