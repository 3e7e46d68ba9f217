/// Conformance of "atoll.response_cache/1".
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/request/response_cache.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_sink.h"

namespace atl::test {

struct ResponseCacheProvider {
  std::string name;
  /// A fresh one, which has begun and holds passes of this host's gate; what it needs lives as long as the
  /// pointer. It keeps small answers, of each model the last one at least.
  std::function<std::shared_ptr<ResponseCache>(FakeHost&)> make;
  std::vector<ConformanceException> exceptions;
  bool counts_memory = false;  ///< says how much of the server's memory its answers take
  friend void PrintTo(const ResponseCacheProvider& provider, std::ostream* out) { *out << provider.name; }
};

/// A request that asks the cache, and if that is a miss its model, as the catalog does. Its inputs go to the
/// outputs of their numbers.
class CachedRequest final : private CacheWaiter {
 public:
  using Values = std::vector<float>;
  CachedRequest(FakeServedModel& model, const Values& values, const std::vector<int64_t>& shape = {2},
                const std::vector<std::string>& outputs = {"OUTPUT0"})
      : model_(model) {
    request.add_input<float>("INPUT0", DataType::kFp32, shape, values);
    request.add_input<float>("INPUT1", DataType::kFp32, shape, values);
    for (const std::string& output : outputs) request.add_output(output);
  }

  CacheOutcome ask(ResponseCache& cache) {
    request->model = &model_;
    request.mark_accepted();
    const CacheOutcome outcome = cache.look_up(*request, *this);
    if (outcome == CacheOutcome::kMiss) run();
    return outcome;
  }
  /// Its only response, which is there once and has these values in each output that was asked for.
  void expect_answer(const Values& values) {
    ASSERT_TRUE(request.wait_done());
    EXPECT_EQ(request.problems(), std::vector<std::string>());
    EXPECT_LE(resumed_, 1);
    ASSERT_EQ(request.responses().size(), 1u);
    const ReceivedResponse response = request.response();
    EXPECT_EQ(response.code, Code::kOk) << response.message;
    for (const RequestedOutput& wanted : request->outputs) {
      const ReceivedOutput* output = response.find(wanted.name);
      ASSERT_NE(output, nullptr) << wanted.name;
      EXPECT_EQ(values_of<float>(output->bytes), values);
      EXPECT_EQ(output->datatype, DataType::kFp32);
      const auto shape = request->inputs[0].shape;
      EXPECT_EQ(output->shape, std::vector<int64_t>(shape.begin(), shape.end()));
    }
  }

  TestRequest request;

 private:
  void resume(Request&) noexcept override {
    ++resumed_;
    run();
  }
  void run() {
    if (Status status = model_.infer(*request); !status.ok()) fail_request(*request, std::move(status));
  }

  FakeServedModel& model_;
  std::atomic<int> resumed_{0};
};

class ResponseCacheConformance : public Conformance<ResponseCacheProvider> {
 protected:
  using Values = CachedRequest::Values;
  void SetUp() override { cache_ = GetParam().make(host_); }
  /// A check, and then nothing of it holds the provider.
  void check_and_leave(const std::function<void()>& body) {
    check([&] {
      body();
      expect_passes_return();
      cache_.reset();
    });
  }
  void expect_passes_return() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (host_.gate().count() != 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_EQ(host_.gate().count(), 0) << "all requests have ended, and hold it";
  }
  /// The request that a model is asked, which may be later than the cache. Null: none is.
  static Request* wait_for(const std::atomic<Request*>& asked) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (asked == nullptr && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return asked;
  }
  /// One request from its beginning to its end.
  void expect_values(FakeServedModel& model, const Values& values) {
    CachedRequest one(model, values);
    one.ask(*cache_);
    one.expect_answer(values);
  }

  FakeHost host_{"cache", FakeHost::Threads::kReal};
  FakeModelCatalog catalog_;
  FakeServedModel& alpha_ = catalog_.add_identity("alpha");
  std::shared_ptr<ResponseCache> cache_;
};

TEST_P(ResponseCacheConformance, AnAnswerIsGivenAgain) {
  check_and_leave([&] {
    CachedRequest first(alpha_, {1, 2});
    EXPECT_NE(first.ask(*cache_), CacheOutcome::kHit);
    first.expect_answer({1, 2});
    for (int i = 0; i < 3; ++i) {
      CachedRequest again(alpha_, {1, 2});
      EXPECT_NE(again.ask(*cache_), CacheOutcome::kMiss);
      again.expect_answer({1, 2});
    }
    EXPECT_EQ(alpha_.statistics().inference_count, 1u);
  });
}

TEST_P(ResponseCacheConformance, ItsMemoryIsThatOfItsAnswers) {
  check_and_leave([&] {
    const uint64_t before = cache_->memory_bytes();
    expect_values(alpha_, {1, 2});
    if (!GetParam().counts_memory) {
      EXPECT_EQ(cache_->memory_bytes(), 0u);
      return;
    }
    EXPECT_GE(cache_->memory_bytes(), before + 2 * sizeof(float));
    expect_values(alpha_, {1, 2});
    const uint64_t one = cache_->memory_bytes();
    expect_values(alpha_, {1, 3});
    EXPECT_GT(cache_->memory_bytes(), one);
  });
}

TEST_P(ResponseCacheConformance, OtherRequestsHaveOtherAnswers) {
  check_and_leave([&] {
    FakeServedModel& beta = catalog_.add_identity("beta");
    FakeServedModel& other_version = catalog_.add_identity("alpha", DataType::kFp32, 0, 2);
    expect_values(alpha_, {1, 2});
    expect_values(alpha_, {1, 3});
    expect_values(alpha_, {1, 2});
    // Of the same bytes.
    CachedRequest other_shape(alpha_, {1, 2}, {1, 2});
    other_shape.ask(*cache_);
    other_shape.expect_answer({1, 2});
    expect_values(beta, {1, 2});
    EXPECT_EQ(beta.statistics().inference_count, 1u) << "it is another model's";
    expect_values(other_version, {1, 2});
    EXPECT_EQ(other_version.statistics().inference_count, 1u) << "it is another version's";
  });
}

TEST_P(ResponseCacheConformance, AHitHasWhatItsRequestAsksFor) {
  check_and_leave([&] {
    for (const std::vector<std::string>& outputs :
         {std::vector<std::string>{"OUTPUT0"}, {"OUTPUT0", "OUTPUT1"}, {"OUTPUT1"}, {"OUTPUT0"}}) {
      CachedRequest one(alpha_, {1, 2}, {2}, outputs);
      one.ask(*cache_);
      one.expect_answer({1, 2});
    }
  });
}

TEST_P(ResponseCacheConformance, FailuresAreNotKept) {
  check_and_leave([&] {
    alpha_.respond = [](Request& request) { fail_request(request, unavailable("not now")); };
    for (int i = 0; i < 2; ++i) {
      CachedRequest failed(alpha_, {1, 2});
      failed.ask(*cache_);
      ASSERT_TRUE(failed.request.wait_done());
      EXPECT_EQ(failed.request.response().code, Code::kUnavailable);
      EXPECT_EQ(failed.request.problems(), std::vector<std::string>());
    }
    alpha_.respond = nullptr;
    expect_values(alpha_, {1, 2});
  });
}

TEST_P(ResponseCacheConformance, AnswersOfSeveralResponsesAreNotKept) {
  check_and_leave([&] {
    alpha_.respond = [](Request& request) {
      answer_identity(request, 0);
      answer_identity(request);
      (void)request.release().ok();
    };
    for (int i = 0; i < 2; ++i) {
      CachedRequest one(alpha_, {1, 2});
      one.ask(*cache_);
      ASSERT_TRUE(one.request.wait_done());
      EXPECT_EQ(one.request.responses().size(), 2u);
      EXPECT_EQ(one.request.problems(), std::vector<std::string>());
    }
  });
}

TEST_P(ResponseCacheConformance, ItIsHeldUntilARequestEnds) {
  check_and_leave([&] {
    for (const bool release_first : {false, true}) {
      std::atomic<Request*> asked{nullptr};
      alpha_.respond = [&](Request& request) { asked = &request; };
      CachedRequest one(alpha_, {1, release_first ? 2.f : 3.f});
      EXPECT_NE(one.ask(*cache_), CacheOutcome::kHit);
      Request* held = wait_for(asked);
      ASSERT_NE(held, nullptr);
      ResponseSink* sink = held->sink;
      const bool is_interposed = sink != &one.request;
      const auto expect_held = [&](const char* why) {
        EXPECT_TRUE(!is_interposed || host_.gate().count() > 0) << why;
      };
      expect_held("the request would outlive it");
      if (!release_first) {
        answer_identity(*held);
        expect_held("it is not released");
      }
      Response* late = release_first ? sink->new_response() : nullptr;
      (void)held->release().ok();
      if (late != nullptr) {
        expect_held("it is not answered");
        late->send_error(unavailable("late"));
      }
      EXPECT_TRUE(one.request.wait_done());
      EXPECT_EQ(one.request.problems(), std::vector<std::string>());
      expect_passes_return();
    }
    alpha_.respond = nullptr;
  });
}

TEST_P(ResponseCacheConformance, ItServesWhileItIsReplaced) {
  check_and_leave([&] {
    expect_values(alpha_, {1, 2});
    host_.gate().close();
    expect_values(alpha_, {1, 2});
    expect_values(alpha_, {3, 4});
  });
}

TEST_P(ResponseCacheConformance, ACancelledRequestWaitsForNobody) {
  check_and_leave([&] {
    std::atomic<Request*> asked{nullptr};
    alpha_.respond = [&](Request& request) {
      if (asked != nullptr) return fail_request(request, Status(Code::kCancelled, {}));
      asked = &request;
    };
    CachedRequest first(alpha_, {1, 2});
    EXPECT_NE(first.ask(*cache_), CacheOutcome::kHit);
    Request* held = wait_for(asked);
    ASSERT_NE(held, nullptr);
    CachedRequest second(alpha_, {1, 2});
    EXPECT_NE(second.ask(*cache_), CacheOutcome::kHit) << "nothing is known yet";
    second.request.cancel();
    EXPECT_TRUE(second.request.wait_done());
    EXPECT_EQ(second.request.problems(), std::vector<std::string>());
    answer_identity(*held);
    (void)held->release().ok();
    first.expect_answer({1, 2});
    alpha_.respond = nullptr;
  });
}

TEST_P(ResponseCacheConformance, ManyThreadsEachGetTheirAnswers) {
  check_and_leave([&] {
    constexpr int kThreads = 4, kRequests = 200;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kRequests; ++i) expect_values(alpha_, {1, static_cast<float>((i + t) % 5)});
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace atl::test
