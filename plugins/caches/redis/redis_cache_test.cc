#include "caches/redis/redis_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "atoll/testing/conformance/response_cache.h"
#include "atoll/testing/recorded_metrics.h"
#include "caches/redis/testing/fake_redis.h"
#include "caches/redis/testing/redis_server.h"
#include "caches/redis/testing/redis_support.h"

namespace atl::caches {
namespace {

void await_connections(RedisCache& cache) {
  await("Redis can be used", [&] { return cache.client().connections() == settings_for(0).connections; });
}

/// One that can be used, and its server if it is a real one.
struct Served {
  std::unique_ptr<RedisServer> server;
  std::unique_ptr<RedisCache> cache;
};

std::shared_ptr<Served> serve(test::FakeHost& host) {
  auto served = std::make_shared<Served>();
  served->server = std::make_unique<RedisServer>();
  RedisSettings settings = settings_for(served->server->port());
  settings.retry_after_ns = 60 * kNsPerSecond;
  served->cache = std::make_unique<RedisCache>(host, settings);
  EXPECT_TRUE(served->cache->start().ok());
  await_connections(*served->cache);
  return served;
}

std::shared_ptr<ResponseCache> make_redis_cache(test::FakeHost& host) {
  const std::shared_ptr<Served> served = serve(host);
  return {served, served->cache.get()};
}

}  // namespace
}  // namespace atl::caches

namespace atl::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Redis, ResponseCacheConformance,
                         ::testing::Values(ResponseCacheProvider{"redis", caches::make_redis_cache, {}}));

}  // namespace
}  // namespace atl::test

namespace atl::caches {
namespace {

using Values = test::CachedRequest::Values;

class RedisCacheTest : public ::testing::Test {
 protected:
  ~RedisCacheTest() override {
    await("nothing holds the gate", [&] { return host_.gate().count() == 0; });
  }
  static double metric(const RedisCache& cache, const char* name) {
    return test::RecordedMetrics(cache).values()[name];
  }
  uint64_t computed() const { return model_.statistics().inference_count; }
  CacheOutcome ask(RedisCache& cache, const Values& values) {
    test::CachedRequest request(model_, values);
    const CacheOutcome outcome = request.ask(cache);
    request.expect_answer(values);
    return outcome;
  }

  test::FakeHost host_{"cache", test::FakeHost::Threads::kReal};
  test::FakeModelCatalog catalog_;
  test::FakeServedModel& model_ = catalog_.add_identity("m");
};

TEST_F(RedisCacheTest, ServersShareAnswersOfTheSameModel) {
  const std::shared_ptr<Served> first = serve(host_);
  RedisCache second(host_, settings_for(first->server->port()));
  ASSERT_TRUE(second.start().ok());
  await_connections(second);
  test::FakeModelCatalog elsewhere;
  const auto model = [](test::FakeModelCatalog& catalog, const char* name, const char* content_id) {
    ModelInfo info = catalog.add_identity(name).info();
    info.content_id = content_id;
    return &catalog.add(std::move(info));
  };
  test::FakeServedModel* here = model(catalog_, "shared", "content");
  test::FakeServedModel* there = model(elsewhere, "shared", "content");
  test::FakeServedModel* changed = model(elsewhere, "shared", "other content");
  for (test::FakeServedModel* one : {here, there, changed})
    one->respond = [](Request& request) {
      test::answer_identity(request);
      (void)request.release().ok();
    };
  const auto asked = [&](RedisCache& cache, test::FakeServedModel& of) {
    test::CachedRequest request(of, {1, 2});
    request.ask(cache);
    request.expect_answer({1, 2});
    return metric(cache, "nv_cache_num_hits");
  };
  EXPECT_EQ(asked(*first->cache, *here), 0);
  EXPECT_EQ(asked(*first->cache, *here), 1) << "it is stored";
  EXPECT_EQ(asked(second, *there), 1);
  EXPECT_EQ(asked(second, *changed), 1) << "of other files";
}

TEST_F(RedisCacheTest, CountsWhatItDoes) {
  const std::shared_ptr<Served> served = serve(host_);
  EXPECT_EQ(ask(*served->cache, {1, 2}), CacheOutcome::kWaits);
  EXPECT_EQ(ask(*served->cache, {1, 2}), CacheOutcome::kWaits);
  EXPECT_EQ(metric(*served->cache, "nv_cache_num_lookups"), 2);
  EXPECT_EQ(metric(*served->cache, "nv_cache_num_hits"), 1);
  EXPECT_EQ(metric(*served->cache, "nv_cache_num_misses"), 1);
  EXPECT_EQ(computed(), 1u);
}

TEST_F(RedisCacheTest, WithoutRedisEachAnswerIsComputedAtOnce) {
  const std::shared_ptr<Served> served = serve(host_);
  served->server->kill();
  await("it is not available", [&] { return !served->cache->client().is_available(); });
  EXPECT_EQ(ask(*served->cache, {1, 2}), CacheOutcome::kMiss);
  EXPECT_EQ(ask(*served->cache, {1, 2}), CacheOutcome::kMiss);
  EXPECT_EQ(computed(), 2u);
}

TEST_F(RedisCacheTest, ASlowRedisIsWaitedForUpToTheTimeout) {
  RedisServer server;
  RedisSettings settings = settings_for(server.port());
  settings.timeout_ns = 5 * kNsPerMs;
  RedisCache cache(host_, settings);
  ASSERT_TRUE(cache.start().ok());
  await_connections(cache);
  server.pause();
  EXPECT_EQ(ask(cache, {1, 2}), CacheOutcome::kWaits);
  EXPECT_EQ(computed(), 1u);
  EXPECT_EQ(metric(cache, "atoll_cache_failures_total{reason=timeout}"), 1);
  await("the circuit breaker opens", [&] { return ask(cache, {1, 2}) == CacheOutcome::kMiss; });
  server.resume();
}

TEST_F(RedisCacheTest, ACancelledRequestDoesNotWaitForRedis) {
  const std::shared_ptr<Served> served = serve(host_);
  served->server->pause();
  std::vector<std::unique_ptr<test::CachedRequest>> requests;
  for (int i = 0; i < 20; ++i) {
    requests.push_back(std::make_unique<test::CachedRequest>(model_, Values{1, static_cast<float>(i)}));
    EXPECT_EQ(requests.back()->ask(*served->cache), CacheOutcome::kWaits);
    requests.back()->request.cancel();
  }
  for (auto& request : requests) {
    EXPECT_TRUE(request->request.wait_done()) << "Redis has replied to nothing";
    EXPECT_EQ(request->request.problems(), std::vector<std::string>());
  }
  served->server->resume();
}

TEST_F(RedisCacheTest, WhatIsNoAnswerIsAMiss) {
  FakeRedis server(
      [](const FakeRedis::Words& words) { return words.at(0) == "SET" ? "+OK\r\n" : "$7\r\ngarbage\r\n"; });
  RedisCache cache(host_, settings_for(server.port()));
  ASSERT_TRUE(cache.start().ok());
  await_connections(cache);
  EXPECT_EQ(ask(cache, {1, 2}), CacheOutcome::kWaits);
  EXPECT_EQ(computed(), 1u);
  EXPECT_TRUE(host_.log().contains("is not an answer: no inference.ModelInferResponse"));
}

TEST_F(RedisCacheTest, RedisMayCrashAndPauseWhileManyAsk) {
  RedisServer server;
  RedisSettings settings = settings_for(server.port());
  settings.timeout_ns = 2 * kNsPerMs;
  settings.retry_after_ns = kNsPerMs / 4;
  RedisCache cache(host_, settings);
  ASSERT_TRUE(cache.start().ok());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop || i < 100; ++i) {
        test::CachedRequest request(model_, {1, static_cast<float>((i + t) % 7)});
        const bool is_cancelled = i % 5 == 0;
        request.ask(cache);
        if (is_cancelled) request.request.cancel();
        if (!is_cancelled) request.expect_answer({1, static_cast<float>((i + t) % 7)});
        EXPECT_TRUE(request.request.wait_done());
        EXPECT_EQ(request.request.problems(), std::vector<std::string>());
      }
    });
  }
  for (int round = 0; round < 5; ++round) {
    await("it is available", [&] { return cache.client().is_available(); });
    server.pause();
    await("it is not available", [&] { return !cache.client().is_available(); });
    server.resume();
    await("it is available", [&] { return cache.client().is_available(); });
    server.kill();
    await("it is not available", [&] { return !cache.client().is_available(); });
    server.start();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace atl::caches
