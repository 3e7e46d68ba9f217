// Which requests the response cache is asked for, and what is counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "atoll/request/response_cache.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using test::TestRequest;
using ::testing::IsEmpty;

/// Answers what it is told to, and notes who asked.
class ScriptedCache final : public ResponseCache {
 public:
  virtual ~ScriptedCache() = default;
  CacheOutcome look_up(Request& request, CacheWaiter& waiter) noexcept override {
    asked.emplace_back(request.id);
    if (!hits) {
      if (reports_misses) waiter.report_miss(request, 7);
      return CacheOutcome::kMiss;
    }
    waiter.report_hit(request, 5);
    request.sink->new_response()->send();
    (void)request.release().ok();
    return CacheOutcome::kHit;
  }
  bool hits = false, reports_misses = false;
  std::vector<std::string> asked;
};

class CachedRequestsTest : public ::testing::Test {
 protected:
  CachedRequestsTest() { bench_.host.registry().publish<ResponseCache>("cache", cache_); }
  ~CachedRequestsTest() override {
    requests_.clear();
    model_.reset();
    bench_.end();
  }
  void load(const std::string& more) {
    bench_.put("m", std::string(kSimpleConfig) + " response_cache { enable: true } " + more);
    const Status status = bench_.load_one("m");
    ASSERT_TRUE(status.ok()) << status.text();
    bench_.publish_change(ResponseCache::kInterfaceId, "cache", ServiceChanged::Kind::kPublished);
    model_ = std::move(bench_.catalog().acquire("m", 1)).value();
  }
  TestRequest& add(uint32_t call_flags = 0, uint64_t sequence = 0) {
    requests_.push_back(std::make_unique<TestRequest>(cat("r", requests_.size())));
    fill_simple(*requests_.back());
    (*requests_.back())->call_flags = call_flags;
    (*requests_.back())->sequence.number = sequence;
    return *requests_.back();
  }
  void infer(TestRequest& request) {
    const Status status = request.infer(*model_.get());
    EXPECT_TRUE(status.ok()) << status.text();
  }
  ModelStatistics statistics() { return model_->statistics(); }

  ScriptedCache cache_;
  CatalogBench bench_;
  std::vector<std::unique_ptr<TestRequest>> requests_;
  ModelRef model_;
};

TEST_F(CachedRequestsTest, StepsAreLookedUpShadowsAndSequencesAreNot) {
  load("");
  infer(add());
  infer(add(kIsStep));
  infer(add(kIsStep | kShadow));
  infer(add(0, 7));
  EXPECT_THAT(cache_.asked, ::testing::ElementsAre("r0", "r1"));
}

TEST_F(CachedRequestsTest, AHitIsASuccessThatWasNotExecuted) {
  load("");
  cache_.hits = true;
  infer(add());
  EXPECT_TRUE(requests_[0]->done());
  const ModelStatistics counted = statistics();
  EXPECT_EQ(counted.success.count, 1u);
  EXPECT_EQ(counted.queue.count, 1u);
  EXPECT_EQ(counted.cache_hit.count, 1u);
  EXPECT_EQ(counted.cache_hit.ns, 5u);
  EXPECT_EQ(counted.compute_infer.count + counted.execution_count + counted.inference_count, 0u);
  EXPECT_EQ(counted.last_inference_ms, 0u);
}

TEST_F(CachedRequestsTest, AMissIsExecutedAndCounted) {
  load("");
  cache_.reports_misses = true;
  infer(add());
  EXPECT_EQ(requests_[0]->response().code, Code::kOk);
  EXPECT_EQ(statistics().cache_miss.count, 1u);
  EXPECT_EQ(statistics().cache_miss.ns, 7u);
  EXPECT_EQ(statistics().execution_count, 1u);
}

TEST_F(CachedRequestsTest, WhereAnswersKeepTheirOrderAHitDoesNotOvertake) {
  load("dynamic_batching { preserve_ordering: true }");
  bench_.scheduler.hold = true;
  infer(add());  // computed, and not answered yet
  cache_.hits = true;
  infer(add());
  EXPECT_THAT(cache_.asked, ::testing::ElementsAre("r0"));
  EXPECT_FALSE(requests_[1]->done());
  bench_.scheduler.hold = false;
  EXPECT_TRUE(bench_.scheduler.run_held());
  EXPECT_TRUE(requests_[0]->done() && requests_[1]->done());
  infer(add());
  EXPECT_THAT(cache_.asked, ::testing::ElementsAre("r0", "r2")) << "nothing is unanswered any more";
  EXPECT_TRUE(requests_[2]->done());
  for (auto& request : requests_) EXPECT_THAT(request->problems(), IsEmpty());
}

TEST_F(CachedRequestsTest, ARefusedRequestOfSuchAModelIsAnswered) {
  load("dynamic_batching { preserve_ordering: true }");
  bench_.host.events().publish(ServerStateChanged{ServerStateChanged::State::kDraining, 1});
  bench_.host.run_ready();
  infer(add());
  EXPECT_EQ(requests_[0]->response().code, Code::kUnavailable);
  cache_.hits = true;
  infer(add());
  EXPECT_EQ(requests_[1]->response().code, Code::kOk) << "the refused one does not count as unanswered";
}

}  // namespace
}  // namespace atl::models
