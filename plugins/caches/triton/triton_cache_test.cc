#include "caches/triton/triton_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "atoll/testing/conformance/response_cache.h"
#include "atoll/testing/recorded_metrics.h"
#include "caches/triton/foreign_cache.h"
#include "caches/triton/testing/fake_library.h"

namespace atl::caches {
namespace {

TritonCacheSettings settings(int64_t timeout_ns = 60 * kNsPerSecond) {
  return {2, timeout_ns, 1 << 20, 8 << 20};
}
TritonCacheSettings without_threads() {
  TritonCacheSettings own = settings();
  own.threads = 0;
  return own;
}

/// Over the cache that authors copy.
auto maker(const TritonCacheSettings& settings) {
  return [settings](test::FakeHost& host) -> std::shared_ptr<ResponseCache> {
    auto cache = std::make_shared<TritonCache>(host, settings);
    auto library = ForeignCache::open({"memory", {ATOLL_EXAMPLE_CACHES}, {}}, host.log());
    EXPECT_TRUE(cache->start(std::move(library).value()).ok());
    return cache;
  };
}

}  // namespace
}  // namespace atl::caches

namespace atl::test {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Triton, ResponseCacheConformance,
    ::testing::Values(ResponseCacheProvider{"threads", caches::maker(caches::settings()), {}},
                      ResponseCacheProvider{"no_threads", caches::maker(caches::without_threads()), {}}));

}  // namespace
}  // namespace atl::test

namespace atl::caches {
namespace {

using Values = test::CachedRequest::Values;

class TritonCacheTest : public ::testing::Test {
 protected:
  ~TritonCacheTest() override {
    wait_for("nothing holds the gate", [&] { return host_.gate().count() == 0; });
  }
  std::unique_ptr<TritonCache> make(const TritonCacheSettings& settings) {
    auto cache = std::make_unique<TritonCache>(host_, settings);
    EXPECT_TRUE(cache->start(std::make_unique<FakeLibrary>(answers_)).ok());
    return cache;
  }
  static void wait_for(const char* what, const auto& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    bool is_true = false;
    while (!(is_true = condition()) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_TRUE(is_true) << what;
  }
  CacheOutcome ask(TritonCache& cache, const Values& values) {
    test::CachedRequest request(model_, values);
    const CacheOutcome outcome = request.ask(cache);
    request.expect_answer(values);
    return outcome;
  }
  uint64_t computed() const { return model_.statistics().inference_count; }
  static double metric(const TritonCache& cache, const char* name) {
    return test::RecordedMetrics(cache).values()[name];
  }
  static double failures(const TritonCache& cache, const char* reason) {
    return metric(cache, cat("atoll_cache_failures_total{reason=", reason, "}").c_str());
  }

  test::FakeHost host_{"cache", test::FakeHost::Threads::kReal};
  test::FakeModelCatalog catalog_;
  test::FakeServedModel& model_ = catalog_.add_identity("m");
  FakeAnswers answers_;
};

TEST_F(TritonCacheTest, CountsWhatItDoes) {
  const auto cache = make(settings());
  EXPECT_EQ(ask(*cache, {1, 2}), CacheOutcome::kWaits);
  EXPECT_EQ(ask(*cache, {1, 2}), CacheOutcome::kWaits);
  EXPECT_EQ(computed(), 1u);
  EXPECT_EQ(metric(*cache, "nv_cache_num_lookups"), 2);
  EXPECT_EQ(metric(*cache, "nv_cache_num_hits"), 1);
  EXPECT_EQ(metric(*cache, "nv_cache_num_misses"), 1);
  EXPECT_EQ(metric(*cache, "atoll_cache_buffered_bytes"), 0);
  EXPECT_EQ(answers_.kept.size(), 1u);
  EXPECT_TRUE(answers_.kept.begin()->first.starts_with("m:1:"));
}

TEST_F(TritonCacheTest, WithoutThreadsItAnswersAtOnce) {
  const auto cache = make(without_threads());
  EXPECT_EQ(ask(*cache, {1, 2}), CacheOutcome::kMiss);
  EXPECT_EQ(answers_.kept.size(), 1u);
  EXPECT_EQ(ask(*cache, {1, 2}), CacheOutcome::kHit);
  answers_.kept.begin()->second = "garbage";
  EXPECT_EQ(ask(*cache, {1, 2}), CacheOutcome::kMiss);
  EXPECT_EQ(computed(), 2u);
  EXPECT_EQ(failures(*cache, "answer"), 1);
  answers_.look_up_failure = internal_error("broken");
  EXPECT_EQ(ask(*cache, {1, 2}), CacheOutcome::kMiss);
  EXPECT_EQ(failures(*cache, "lookup"), 1);
  EXPECT_EQ(metric(*cache, "nv_cache_num_lookups"), 4);
}

TEST_F(TritonCacheTest, ALibraryThatFailsIsAMissAndToldOnce) {
  answers_.look_up_failure = internal_error("broken");
  answers_.insert_failure = unavailable("full");
  const auto cache = make(settings());
  for (int i = 0; i < 5; ++i) ask(*cache, {1, 2});
  EXPECT_EQ(computed(), 5u);
  EXPECT_EQ(failures(*cache, "lookup"), 5);
  wait_for("all are kept", [&] { return failures(*cache, "insertion") == 5; });
  EXPECT_EQ(host_.log().count(LogLevel::kWarning, "the cache failed looking up 'm:1:"), 1u);
  EXPECT_EQ(host_.log().count(LogLevel::kWarning, "': broken"), 1u);
  EXPECT_EQ(host_.log().count(LogLevel::kWarning, "': full"), 1u);
}

TEST_F(TritonCacheTest, WhatIsThereAlreadyIsNoFailure) {
  answers_.insert_failure = make_status(Code::kAlreadyExists, "it is there");
  const auto cache = make(settings());
  ask(*cache, {1, 2});
  ask(*cache, {1, 2});
  EXPECT_EQ(computed(), 2u);
  EXPECT_EQ(failures(*cache, "insertion"), 0);
}

TEST_F(TritonCacheTest, WhatIsNoAnswerIsComputed) {
  const auto cache = make(settings());
  ask(*cache, {1, 2});
  ask(*cache, {1, 3});
  answers_.wait_until([&] { return answers_.kept.size() == 2; });
  answers_.set([&] { answers_.kept.begin()->second = answers_.kept.rbegin()->second; });
  ask(*cache, {1, 2});
  ask(*cache, {1, 3});
  EXPECT_EQ(computed(), 3u);
  EXPECT_EQ(failures(*cache, "answer"), 1);
  EXPECT_TRUE(host_.log().contains("is not an answer: it is not what was kept under this key"));
}

TEST_F(TritonCacheTest, AnotherLoadOfUnknownContentIsAskedItself) {
  const auto cache = make(settings());
  ask(*cache, {1, 2});
  ModelInfo info = model_.info();
  ++info.load_id;
  test::FakeServedModel& loaded = catalog_.add(std::move(info));
  loaded.respond = [](Request& request) {
    test::answer_identity(request);
    (void)request.release().ok();
  };
  test::CachedRequest request(loaded, {1, 2});
  request.ask(*cache);
  request.expect_answer({1, 2});
  EXPECT_EQ(metric(*cache, "nv_cache_num_hits"), 0);
}

TEST_F(TritonCacheTest, OneThatTakesLongIsWaitedForUpToTheTimeout) {
  const auto cache = make(settings(5 * kNsPerMs));
  answers_.set([&] { answers_.is_held = true; });
  EXPECT_EQ(ask(*cache, {1, 2}), CacheOutcome::kWaits);
  EXPECT_EQ(failures(*cache, "timeout"), 1);
  EXPECT_TRUE(host_.log().contains("the cache has not answered within 5 ms"));
  wait_for("its thread is left alone", [&] { return ask(*cache, {1, 2}) == CacheOutcome::kMiss; });
  EXPECT_GE(failures(*cache, "unavailable"), 1);
  answers_.set([&] { answers_.is_held = false; });
  answers_.wait_until([&] { return answers_.inside == 0; });
  wait_for("it is asked again", [&] { return ask(*cache, {1, 2}) == CacheOutcome::kWaits; });
}

TEST_F(TritonCacheTest, ACancelledRequestDoesNotWait) {
  const auto cache = make(settings());
  answers_.set([&] { answers_.is_held = true; });
  std::vector<std::unique_ptr<test::CachedRequest>> requests;
  for (int i = 0; i < 10; ++i) {
    requests.push_back(std::make_unique<test::CachedRequest>(model_, Values{1, static_cast<float>(i)}));
    EXPECT_EQ(requests.back()->ask(*cache), CacheOutcome::kWaits);
    requests.back()->request.cancel();
  }
  for (auto& request : requests) {
    EXPECT_TRUE(request->request.wait_done()) << "the library has not returned";
    EXPECT_EQ(request->request.problems(), std::vector<std::string>());
  }
  answers_.set([&] { answers_.is_held = false; });
}

TEST_F(TritonCacheTest, WhatDoesNotFitIsDropped) {
  TritonCacheSettings small = settings();
  small.write_buffer_bytes = 7;
  const auto cache = make(small);
  ask(*cache, {1, 2});
  EXPECT_EQ(metric(*cache, "atoll_cache_dropped_total"), 1);
  EXPECT_TRUE(answers_.kept.empty());
  small = settings();
  small.entry_bytes_max = 7;
  const auto other = make(small);
  ask(*other, {1, 2});
  EXPECT_TRUE(answers_.kept.empty());
}

/// Answers, time limits, cancellations and failures by chance: each request has its answer once.
TEST_F(TritonCacheTest, ManyThreadsAndALibraryThatComesAndGoes) {
  const auto cache = make(settings(kNsPerMs));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop || i < 100; ++i) {
        const Values values = {1, static_cast<float>((i + t) % 7)};
        test::CachedRequest request(model_, values);
        request.ask(*cache);
        if (i % 5 == 0) request.request.cancel();
        if (i % 5 != 0) request.expect_answer(values);
        EXPECT_TRUE(request.request.wait_done());
        EXPECT_EQ(request.request.problems(), std::vector<std::string>());
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    answers_.set([&] {
      answers_.is_held = round % 2 == 0;
      answers_.look_up_failure = round % 4 == 1 ? unavailable("not now") : Status();
      if (round % 3 == 0) answers_.kept.clear();
    });
    const double lookups = metric(*cache, "nv_cache_num_lookups");
    wait_for("some were asked", [&] {
      return metric(*cache, "nv_cache_num_lookups") > lookups || failures(*cache, "unavailable") > 0;
    });
  }
  answers_.set([&] { answers_.is_held = false; });
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace atl::caches
