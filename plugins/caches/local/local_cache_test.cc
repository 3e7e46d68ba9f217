#include "caches/local/local_cache.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "atoll/testing/conformance/response_cache.h"
#include "atoll/testing/recorded_metrics.h"

namespace atl::test {
namespace {

std::shared_ptr<ResponseCache> make_local_cache(FakeHost& host) {
  auto cache = std::make_shared<caches::LocalCache>(host, caches::LocalCacheSettings{});
  EXPECT_TRUE(cache->start().ok());
  return cache;
}

INSTANTIATE_TEST_SUITE_P(Local, ResponseCacheConformance,
                         ::testing::Values(ResponseCacheProvider{"local", make_local_cache, {}, true}));

}  // namespace
}  // namespace atl::test

namespace atl::caches {
namespace {

using test::TestRequest;

/// A model whose answers come when the test says so, behind a cache.
class LocalCacheTest : public ::testing::Test, protected CacheWaiter {
 protected:
  LocalCacheTest() {
    model_.respond = [this](Request& request) { computing_.push_back(&request); };
    EXPECT_TRUE(cache_.start().ok());
  }
  ~LocalCacheTest() override {
    host_.run_until_idle();
    for (auto& request : requests_) {
      EXPECT_TRUE(request->done()) << request->request().id;
      for (const std::string& problem : request->problems()) ADD_FAILURE() << problem;
    }
    EXPECT_EQ(host_.gate().count(), 0);
  }

  TestRequest& add(float value = 1) {
    requests_.push_back(std::make_unique<TestRequest>(cat("r", requests_.size())));
    TestRequest& request = *requests_.back();
    request.add_input<float>("INPUT0", DataType::kFp32, {1}, {value});
    request.add_output("OUTPUT0");
    request->model = &model_;
    request.mark_accepted();
    return request;
  }
  /// As the catalog does it.
  CacheOutcome ask(TestRequest& request) {
    const CacheOutcome outcome = cache_.look_up(request.request(), *this);
    if (outcome == CacheOutcome::kMiss) resume(request.request());
    return outcome;
  }
  /// The model answers the request that has been there for longest.
  void compute(const std::function<void(Request&)>& answer) {
    ASSERT_FALSE(computing_.empty());
    Request* request = computing_.front();
    computing_.erase(computing_.begin());
    answer(*request);
    host_.run_until_idle();
  }
  static void answer_it(Request& request) {
    test::answer_identity(request);
    (void)request.release().ok();
  }

  void resume(Request& request) noexcept override { EXPECT_TRUE(model_.infer(request).ok()); }
  void report_hit(const Request&, uint64_t) noexcept override { ++hits_; }
  void report_miss(const Request&, uint64_t) noexcept override { ++misses_; }

  test::FakeHost host_{"cache"};
  test::FakeModelCatalog catalog_;
  test::FakeServedModel& model_ = catalog_.add_identity("m");
  LocalCache cache_{host_, {1 << 20, 10 * kNsPerSecond}};
  std::vector<std::unique_ptr<TestRequest>> requests_;
  std::vector<Request*> computing_;
  int hits_ = 0, misses_ = 0;
};

TEST_F(LocalCacheTest, EqualRequestsWaitForTheFirst) {
  EXPECT_EQ(ask(add()), CacheOutcome::kMiss);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(add()), CacheOutcome::kWaits);
  EXPECT_EQ(ask(add(2)), CacheOutcome::kMiss) << "another one";
  EXPECT_EQ(computing_.size(), 2u);
  compute(answer_it);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(requests_[static_cast<size_t>(i)]->done()) << i;
  compute(answer_it);
  EXPECT_EQ(hits_, 5);
  EXPECT_EQ(misses_, 2);
}

TEST_F(LocalCacheTest, AFailureIsItsOwnRequestsAlone) {
  ask(add());
  ask(add());
  ask(add());
  compute([](Request& request) { fail_request(request, internal_error("no")); });
  EXPECT_EQ(requests_[0]->response().code, Code::kInternal);
  EXPECT_FALSE(requests_[1]->done());
  ASSERT_EQ(computing_.size(), 2u) << "the others ask the model themselves";
  compute(answer_it);
  compute(answer_it);
  EXPECT_EQ(requests_[1]->response().code, Code::kOk);
  EXPECT_EQ(requests_[2]->response().code, Code::kOk);
}

TEST_F(LocalCacheTest, WhenTheFirstIsCancelledTheNextIsComputed) {
  for (int i = 0; i < 4; ++i) ask(add());
  requests_[0]->cancel();
  compute([](Request& request) { fail_request(request, Status(Code::kCancelled, {})); });
  ASSERT_EQ(computing_.size(), 1u) << "one for all of them";
  EXPECT_EQ(ask(add()), CacheOutcome::kWaits);
  compute(answer_it);
  EXPECT_TRUE(computing_.empty());
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(requests_[i]->response().code, Code::kOk) << i;
}

TEST_F(LocalCacheTest, WhoIsCancelledWhileItWaitsGoesOnAtOnce) {
  ask(add());
  ask(add());
  ask(add());
  requests_[1]->cancel();
  EXPECT_EQ(computing_.size(), 1u) << "not on the thread that cancels";
  host_.run_until_idle();
  ASSERT_EQ(computing_.size(), 2u) << "to its scheduler, which answers it";
  computing_.pop_back();
  fail_request(requests_[1]->request(), Status(Code::kCancelled, {}));
  compute(answer_it);
  EXPECT_EQ(requests_[2]->response().code, Code::kOk);
}

TEST_F(LocalCacheTest, AnAnswerAges) {
  ask(add());
  compute(answer_it);
  EXPECT_EQ(ask(add()), CacheOutcome::kHit);
  host_.fake_clock().advance(10 * kNsPerSecond);
  EXPECT_EQ(ask(add()), CacheOutcome::kMiss);
  compute(answer_it);
}

TEST_F(LocalCacheTest, WhatItsClientMayChangeIsNotKept) {
  std::vector<char> place(4);
  TestRequest& placed = add();
  placed->outputs.truncate(0);
  placed.add_output("OUTPUT0", place);
  ask(placed);
  compute(answer_it);
  EXPECT_EQ(ask(add()), CacheOutcome::kMiss) << "the output was in the client's memory";
  compute(answer_it);
  EXPECT_EQ(cache_.store().entries(), 1u);
  TestRequest& shared = add();
  shared->inputs[0].flags = InputTensor::kShared;
  EXPECT_EQ(ask(shared), CacheOutcome::kMiss);
  compute(answer_it);
}

TEST_F(LocalCacheTest, AHitCanBeWrittenIntoTheClientsMemory) {
  ask(add(7));
  compute(answer_it);
  std::vector<char> place(4);
  TestRequest& placed = add(7);
  placed->outputs.truncate(0);
  placed.add_output("OUTPUT0", place);
  EXPECT_EQ(ask(placed), CacheOutcome::kHit);
  float value = 0;
  std::memcpy(&value, place.data(), 4);
  EXPECT_EQ(value, 7);
}

TEST_F(LocalCacheTest, AnotherLoadOfTheModelIsAskedItself) {
  ask(add());
  compute(answer_it);
  ModelInfo info = model_.info();
  ++info.load_id;
  test::FakeServedModel& loaded = catalog_.add(std::move(info));
  loaded.respond = model_.respond;
  TestRequest& request = add();
  request->model = &loaded;
  EXPECT_EQ(ask(request), CacheOutcome::kMiss);
  compute(answer_it);
}

TEST_F(LocalCacheTest, Metrics) {
  ask(add());
  ask(add());
  compute(answer_it);
  ask(add());
  const auto metrics = test::RecordedMetrics(cache_).values();
  EXPECT_EQ(metrics.at("nv_cache_num_entries"), 1);
  EXPECT_EQ(metrics.at("nv_cache_num_lookups"), 3);
  EXPECT_EQ(metrics.at("nv_cache_num_hits"), 2);
  EXPECT_EQ(metrics.at("nv_cache_num_misses"), 1);
  EXPECT_EQ(metrics.at("nv_cache_num_evictions"), 0);
  EXPECT_EQ(metrics.at("atoll_cache_waits_total"), 1);
  EXPECT_GT(metrics.at("nv_cache_util"), 0);
  EXPECT_EQ(metrics.at("atoll_cache_bytes"), static_cast<double>(cache_.store().used_bytes()));
}

/// Real threads: each answer is that of its question, and equal questions that come together are computed once.
TEST(LocalCacheThreads, EachIsAnsweredAndComputedOnce) {
  test::FakeHost host("cache", test::FakeHost::Threads::kReal);
  test::FakeModelCatalog catalog;
  test::FakeServedModel& model = catalog.add_identity("m");
  {
    LocalCache cache(host, {1 << 20, 0});
    ASSERT_TRUE(cache.start().ok());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 300; ++i) {
          const test::CachedRequest::Values values = {static_cast<float>(i), 1};
          test::CachedRequest one(model, values);
          one.ask(cache);
          one.expect_answer(values);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(model.statistics().inference_count, 300u);
    while (host.gate().count() != 0) std::this_thread::yield();
    cache.stop();
  }
}

}  // namespace
}  // namespace atl::caches
