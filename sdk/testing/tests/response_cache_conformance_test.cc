/// The suite of response caches against one that is right and ones that are broken on purpose.
#include <list>
#include <map>
#include <mutex>
#include <set>

#include "atoll/core/open_parts.h"
#include "atoll/request/sink_interposer.h"
#include "atoll/testing/conformance/response_cache.h"

namespace atl::test {
namespace {

enum class CacheFault {
  kNone,
  kNoneAndWaits,  ///< who asks what another one is about to know waits for it, and asks the model then
  kKeepsNothing,
  kIgnoresShapes,
  kIgnoresVersions,
  kIgnoresOutputs,
  kKeepsFailures,
  kKeepsTheLastOfSeveral,
  kHoldsNoPass,
  kAnswersMisses,
};

/// Keeps every answer.
class TestCache final : public ResponseCache, private CancelListener {
 public:
  TestCache(FakeHost& host, CacheFault fault)
      : gate_(host.gate()), fault_(fault), thread_(host.executors().create("cache", {}).value()) {}
  virtual ~TestCache() = default;

  CacheOutcome look_up(Request& request, CacheWaiter& waiter) noexcept override {
    const std::string key = key_of(request);
    {
      std::lock_guard lock(mutex_);
      if (const auto found = answers_.find(key); found != answers_.end()) {
        answer(request, found->second);
        return CacheOutcome::kHit;
      }
      if (fault_ == CacheFault::kNoneAndWaits && begun_.contains(key)) {
        Pass pass(gate_);
        if (!pass || !request.cancellation.listen(this, &request)) return CacheOutcome::kMiss;
        waiting_.push_back({key, &request, &waiter, std::move(pass)});
        return CacheOutcome::kWaits;
      }
      if (!gate_.closed()) begun_.insert(key);
    }
    if (fault_ == CacheFault::kAnswersMisses) answer_identity(request);
    Pass pass;
    if (fault_ != CacheFault::kHoldsNoPass) pass = Pass(gate_);
    if (pass || fault_ == CacheFault::kHoldsNoPass) {
      (new Keeper(*this, key, std::move(pass)))->interpose(request);
    }
    return CacheOutcome::kMiss;
  }

 private:
  struct Waiting {
    std::string key;
    Request* request;
    CacheWaiter* waiter;
    Pass pass;
  };
  /// \param ended  a key of which no answer is to come any more
  template <class Is>
  void resume_those(Is is, const std::string& ended) {
    std::lock_guard lock(mutex_);
    begun_.erase(ended);
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      auto one = at++;
      if (!is(*one)) continue;
      auto resumed = std::make_shared<Waiting>(std::move(*one));
      waiting_.erase(one);
      thread_->post(make_task([resumed] {
        resumed->request->cancellation.stop_listening();
        resumed->waiter->resume(*resumed->request);
      }));
    }
  }
  void on_cancel(void* request) noexcept override {
    thread_->post(make_task([this, request] {
      resume_those([request](const Waiting& one) { return one.request == request; }, {});
    }));
  }
  /// Deletes itself.
  class Keeper final : public SinkInterposer {
   public:
    Keeper(TestCache& cache, std::string key, Pass pass)
        : pass_(std::move(pass)), cache_(cache), key_(std::move(key)) {}
    virtual ~Keeper() = default;
    void send(Response* response, uint32_t flags) noexcept override {
      ++responses_;
      const bool is_final = (flags & kFinal) != 0;
      if (is_final && response != nullptr) keep(ReceivedResponse::of(response, flags));
      if (is_final) cache_.resume_those([this](const Waiting& one) { return one.key == key_; }, key_);
      ResponseSink& sink = next();
      const bool last = is_final && parts_.done(1);
      send_to(sink, response, flags);
      if (last) delete this;
    }
    void released(Request& request) noexcept override {
      ResponseSink& sink = next();
      const bool last = parts_.done(2);
      release_to(sink, request);
      if (last) delete this;
    }

   private:
    void keep(ReceivedResponse response) {
      const CacheFault fault = cache_.fault_;
      if (fault == CacheFault::kKeepsNothing) return;
      if (response.code != Code::kOk && fault != CacheFault::kKeepsFailures) return;
      if (responses_ != 1 && fault != CacheFault::kKeepsTheLastOfSeveral) return;
      std::lock_guard lock(cache_.mutex_);
      cache_.answers_[key_] = std::move(response);
    }
    Pass pass_;
    TestCache& cache_;
    const std::string key_;
    int responses_ = 0;
    OpenParts parts_{1 | 2};
  };

  std::string key_of(const Request& request) const {
    std::string key = request.model->info().name;
    if (fault_ != CacheFault::kIgnoresVersions) key += cat(" ", request.model->info().version);
    for (const InputTensor& input : request.inputs) {
      if (fault_ != CacheFault::kIgnoresShapes) key += shape_text(input.shape);
      for (const Buffer& buffer : input.buffers) {
        key.append(static_cast<const char*>(buffer.data), buffer.size_bytes);
      }
    }
    for (const RequestedOutput& output : request.outputs) {
      if (fault_ != CacheFault::kIgnoresOutputs) key += cat(" ", output.name);
    }
    return key;
  }
  static void answer(Request& request, const ReceivedResponse& kept) {
    Response* response = request.sink->new_response();
    if (kept.code != Code::kOk) response->error = Status(kept.code, kept.message);
    for (const ReceivedOutput& one : kept.outputs) {
      OutputTensor& output = response->add_output(one.name, one.datatype, one.shape);
      EXPECT_TRUE(is_ok(response->allocate(output, one.bytes.size())));
      std::memcpy(output.buffer.data, one.bytes.data(), one.bytes.size());
    }
    response->send();
    (void)request.release().ok();
  }

  Gate& gate_;
  const CacheFault fault_;
  std::mutex mutex_;
  std::map<std::string, ReceivedResponse> answers_;
  std::set<std::string> begun_;  ///< whose answers are to come
  std::list<Waiting> waiting_;
  SerialExecutorPtr thread_;  // last: it uses all of the above
};

/// \param fails  the checks that see the fault
ResponseCacheProvider cache(std::string name, CacheFault fault, const std::vector<std::string>& fails = {}) {
  ResponseCacheProvider provider;
  provider.name = std::move(name);
  provider.make = [fault](FakeHost& host) { return std::make_shared<TestCache>(host, fault); };
  for (const std::string& check : fails) provider.exceptions.push_back(expected_failure(check, "on purpose"));
  return provider;
}

const std::vector<std::string> kEveryMiss = {
    "AnAnswerIsGivenAgain",          "ItsMemoryIsThatOfItsAnswers", "OtherRequestsHaveOtherAnswers",
    "AHitHasWhatItsRequestAsksFor",  "FailuresAreNotKept",          "AnswersOfSeveralResponsesAreNotKept",
    "ItIsHeldUntilARequestEnds",     "ItServesWhileItIsReplaced",   "ACancelledRequestWaitsForNobody",
    "ManyThreadsEachGetTheirAnswers"};
INSTANTIATE_TEST_SUITE_P(
    Fakes, ResponseCacheConformance,
    ::testing::Values(cache("right", CacheFault::kNone), cache("right and waits", CacheFault::kNoneAndWaits),
                      cache("keeps nothing", CacheFault::kKeepsNothing, {"AnAnswerIsGivenAgain"}),
                      cache("ignores shapes", CacheFault::kIgnoresShapes, {"OtherRequestsHaveOtherAnswers"}),
                      cache("ignores versions", CacheFault::kIgnoresVersions,
                            {"OtherRequestsHaveOtherAnswers"}),
                      cache("ignores outputs", CacheFault::kIgnoresOutputs, {"AHitHasWhatItsRequestAsksFor"}),
                      cache("keeps failures", CacheFault::kKeepsFailures, {"FailuresAreNotKept"}),
                      cache("keeps the last of several", CacheFault::kKeepsTheLastOfSeveral,
                            {"AnswersOfSeveralResponsesAreNotKept"}),
                      cache("holds no pass", CacheFault::kHoldsNoPass, {"ItIsHeldUntilARequestEnds"}),
                      cache("answers misses", CacheFault::kAnswersMisses, kEveryMiss)));

}  // namespace
}  // namespace atl::test
