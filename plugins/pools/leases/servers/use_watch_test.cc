#include "pools/leases/servers/use_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pools/leases/testing/pool_bench.h"

namespace atl::pools {
namespace {

using ::testing::HasSubstr;

/// Servers whose statistics a test sets.
class SetUse final : public UseSource {
 public:
  virtual ~SetUse() = default;
  void read_use(const ServerAddress& server, std::function<void(Result<UseByModel>)> done) override {
    ++asked;
    if (is_silent) return;
    if (fails) return done(unavailable("connection refused"));
    done(by_server[server.http.host]);
  }
  std::map<std::string, UseByModel> by_server;
  bool is_silent = false, fails = false;
  int asked = 0;
};

class UseWatchTest : public ::testing::Test, private PoolEvents {
 protected:
  UseWatchTest() {
    bench_.create_pool("p", 8, 2);
    id_ = bench_.deploy(bench_.lease(2, {"a", "b"}));
    server_ = bench_.servers.find("p", 0)->spec.id;
    watch_ = std::make_unique<UseWatch>(bench_.context(), bench_.manager->book(), source_,
                                        static_cast<PoolEvents&>(*this), UseSettings{10 * kNsPerSecond, 2});
  }
  ~UseWatchTest() override { watch_.reset(); }
  void happened(const PoolEvent& event) override {
    if (event.kind == PoolEvent::Kind::kLeaseOveruse) told_.push_back(cat(event.lease, ": ", event.reason));
  }
  ModelUse& use(const std::string& model) { return source_.by_server[server_][model]; }
  void look_after(int64_t ns) {
    bench_.run_for(ns);
    bench_.run([&] { watch_->look(); });
  }

  PoolBench bench_;
  SetUse source_;
  std::string id_, server_;
  std::unique_ptr<UseWatch> watch_;
  std::vector<std::string> told_;
};

TEST_F(UseWatchTest, ALeaseIsUsedWhenRequestsHaveEnded) {
  EXPECT_EQ(watch_->observed(id_), nullptr);
  look_after(0);
  EXPECT_EQ(watch_->last_use_ns(id_), std::nullopt);
  use("b").requests = 3;
  look_after(kNsPerSecond);
  const int64_t used_ns = bench_.steady.now_ns();
  EXPECT_EQ(watch_->last_use_ns(id_), used_ns);
  EXPECT_EQ(watch_->observed(id_)->requests, 3u);
  look_after(kNsPerSecond);
  EXPECT_EQ(watch_->last_use_ns(id_), used_ns);
  use("other").requests = 100;
  look_after(kNsPerSecond);
  EXPECT_EQ(watch_->last_use_ns(id_), used_ns) << "it is no model of the lease";
}

TEST_F(UseWatchTest, AModelThatIsLoadedAnewCountsFromTheBeginning) {
  use("a") = {100, 50, 10, 0};
  look_after(0);
  use("a") = {4, 7, 1, 0};
  look_after(kNsPerSecond);
  EXPECT_EQ(watch_->observed(id_)->requests, 104u);
  EXPECT_EQ(watch_->observed(id_)->compute_ns, 57);
  EXPECT_EQ(watch_->last_use_ns(id_), bench_.steady.now_ns());
}

TEST_F(UseWatchTest, UseBeforeTheFirstLookIsKnownByItsTime) {
  bench_.run_for(100 * kNsPerSecond);
  use("a").requests = 9;
  use("a").last_wall_ns = bench_.clock.wall_ns() - 30 * kNsPerSecond;
  look_after(0);
  EXPECT_EQ(watch_->last_use_ns(id_), bench_.steady.now_ns() - 30 * kNsPerSecond);
  EXPECT_EQ(watch_->observed(id_)->requests, 9u);
}

TEST_F(UseWatchTest, OveruseIsToldOncePerWindow) {
  look_after(0);
  for (int second = 0; second < 20; ++second) {
    use("a").requests += 1;
    use("a").compute_ns += 300 * kNsPerMs;
    use("b").compute_ns += 300 * kNsPerMs;
    look_after(kNsPerSecond);
  }
  EXPECT_NEAR(watch_->observed(id_)->busy, 0.6, 1e-9);
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(
      told_[0],
      id_ +
          ": its models computed 0.60 s in each second of the last 10, and its quota of 2 of 8 is for 0.25");
  told_.clear();
  for (int second = 0; second < 20; ++second) {
    use("a").compute_ns += 500 * kNsPerMs;
    look_after(kNsPerSecond);
  }
  EXPECT_TRUE(told_.empty()) << "twice its part is not more than twice";
}

TEST_F(UseWatchTest, AServerIsAskedOnceUntilItAnswers) {
  source_.is_silent = true;
  look_after(0);
  look_after(kNsPerSecond);
  EXPECT_EQ(source_.asked, 1);
}

TEST_F(UseWatchTest, AFailureChangesNothing) {
  look_after(0);
  use("a").requests = 1;
  look_after(kNsPerSecond);
  source_.fails = true;
  look_after(kNsPerSecond);
  EXPECT_EQ(watch_->observed(id_)->requests, 1u);
  source_.fails = false;
  look_after(kNsPerSecond);
  EXPECT_EQ(source_.asked, 4);
}

TEST_F(UseWatchTest, ALeaseThatIsOverIsForgotten) {
  look_after(0);
  EXPECT_NE(watch_->observed(id_), nullptr);
  bench_.release(id_);
  look_after(5 * kNsPerSecond);
  EXPECT_EQ(watch_->observed(id_), nullptr);
}

}  // namespace
}  // namespace atl::pools
