// Random requests whose models answer late, fail, are cancelled and loaded anew, while time goes on and memory is short;
// each answer is compared with what may be known. To repeat one seed: ATOLL_SIMULATION_SEED=<seed>.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/random.h"
#include "atoll/testing/recording_sink.h"
#include "caches/local/local_cache.h"

namespace atl::caches {
namespace {

using test::TestRequest;

constexpr int64_t kTtlNs = 1000;
constexpr size_t kModels = 3;
constexpr uint64_t kPlentyBytes = uint64_t{1} << 30, kLittleBytes = 20'000;

class CacheSimulation final : private CacheWaiter {
 public:
  CacheSimulation(uint64_t seed, bool is_short)
      : random_(seed), is_short_(is_short), cache_(host_, {is_short ? kLittleBytes : kPlentyBytes, kTtlNs}) {
    EXPECT_TRUE(cache_.start().ok());
    for (size_t model = 0; model < kModels; ++model) load(model);
  }

  virtual ~CacheSimulation() = default;

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) step();
    while (!computing_.empty()) compute(0);
    host_.run_until_idle();
    while (!computing_.empty()) compute(0);  // those that went their own way
    host_.run_until_idle();
    for (const auto& call : calls_) check(*call);
    EXPECT_EQ(host_.gate().count(), 0);
    EXPECT_GT(hits_, 0);
    EXPECT_EQ(cache_.store().evictions() > 0, is_short_);
  }

 private:
  struct Call {
    TestRequest request;
    size_t model = 0;
    uint64_t load = 0;
    int64_t value = 0, asked_ns = 0;
    bool is_cancelled = false, may_fail = false;
  };
  using Key = std::tuple<size_t, uint64_t, int64_t>;

  int64_t now_ns() { return host_.clock().now_ns(); }
  void load(size_t model) {
    ModelInfo info;
    info.name = cat("m", model);
    info.version = 1;
    info.load_id = ++loads_;
    test::FakeServedModel& made = catalog_.add(std::move(info));
    made.respond = [this](Request& request) { computing_.push_back(&request); };
    models_[model] = &made;
  }
  void step() {
    const uint64_t what = random_.below(100);
    if (what < 50) {
      ask();
    } else if (what < 85) {
      if (!computing_.empty()) compute(random_.below(computing_.size()));
    } else if (what < 90) {
      cancel();
    } else if (what < 91) {
      load(random_.below(kModels));
    } else {
      host_.run_for(static_cast<int64_t>(random_.below(kTtlNs / 4)));
    }
    if (random_.chance(50)) host_.run_until_idle();
  }
  void ask() {
    calls_.push_back(std::make_unique<Call>());
    Call& call = *calls_.back();
    call.model = random_.below(kModels);
    test::FakeServedModel& model = *models_[call.model];
    call.load = model.info().load_id;
    call.value = static_cast<int64_t>(random_.below(6));
    call.asked_ns = now_ns();
    TestRequest& request = call.request;
    request->model = &model;
    request.add_input<int64_t>("IN", DataType::kInt64, {1}, {call.value});
    request.add_output("OUT");
    request.mark_accepted();
    by_request_[&request.request()] = &call;
    const CacheOutcome outcome = cache_.look_up(request.request(), *this);
    const auto known = computed_ns_.find({call.model, call.load, call.value});
    const bool is_known = known != computed_ns_.end() && known->second + kTtlNs > call.asked_ns;
    if (outcome == CacheOutcome::kHit) {
      EXPECT_TRUE(is_known) << "nothing was computed that lasts until now";
      ++hits_;
    } else if (!is_short_) {
      EXPECT_FALSE(is_known) << "it is thrown out, and there is room";
    }
    if (outcome == CacheOutcome::kMiss) resume(request.request());
  }
  void compute(size_t place) {
    Request& request = *computing_[place];
    computing_.erase(computing_.begin() + static_cast<std::ptrdiff_t>(place));
    Call& call = *by_request_.at(&request);
    if (request.cancelled()) return fail_request(request, Status(Code::kCancelled, {}));
    if (random_.chance(10)) {
      call.may_fail = true;
      return fail_request(request, unavailable("not now"));
    }
    const std::string filling(random_.below(200) * 8, 'x');
    const std::vector<int64_t> values = {static_cast<int64_t>(call.load), call.value, now_ns()};
    Response* response = request.sink->new_response();
    const uint64_t size = sizeof(int64_t) * values.size() + filling.size();
    const std::vector<int64_t> shape = {static_cast<int64_t>(size / sizeof(int64_t))};
    OutputTensor& output = response->add_output("OUT", DataType::kInt64, shape);
    ASSERT_TRUE(response->allocate(output, size).ok());
    std::memcpy(output.buffer.data, values.data(), sizeof(int64_t) * values.size());
    std::memcpy(static_cast<char*>(output.buffer.data) + sizeof(int64_t) * values.size(), filling.data(),
                filling.size());
    // Who waited for one that failed is not watched.
    const bool is_watched = request.sink != &call.request;
    if (is_watched) computed_ns_[{call.model, call.load, call.value}] = now_ns();
    response->send();
    (void)request.release().ok();
  }
  void cancel() {
    for (auto call = calls_.rbegin(); call != calls_.rend() && call - calls_.rbegin() < 20; ++call) {
      if ((*call)->request.done() || !random_.chance(30)) continue;
      (*call)->is_cancelled = true;
      return (*call)->request.cancel();
    }
  }
  void check(const Call& call) const {
    ASSERT_TRUE(call.request.done());
    EXPECT_EQ(call.request.problems(), std::vector<std::string>());
    const auto responses = call.request.responses();
    ASSERT_EQ(responses.size(), 1u);
    if (responses[0].code != Code::kOk) {
      EXPECT_TRUE(call.is_cancelled || call.may_fail) << "it has somebody else's failure";
      return;
    }
    const auto values = test::values_of<int64_t>(responses[0].find("OUT")->bytes);
    EXPECT_EQ(values.at(0), static_cast<int64_t>(call.load)) << "of another load";
    EXPECT_EQ(values.at(1), call.value) << "of another request";
    EXPECT_GT(values.at(2) + kTtlNs, call.asked_ns) << "too old when it was asked for";
  }

  void resume(Request& request) noexcept override { EXPECT_TRUE(request.model->infer(request).ok()); }

  test::Random random_;
  const bool is_short_;
  test::FakeHost host_{"cache"};
  test::FakeModelCatalog catalog_;
  LocalCache cache_;
  test::FakeServedModel* models_[kModels] = {};
  uint64_t loads_ = 0;
  std::vector<std::unique_ptr<Call>> calls_;
  std::map<const Request*, Call*> by_request_;
  std::vector<Request*> computing_;
  std::map<Key, int64_t> computed_ns_;  ///< the last success
  int hits_ = 0;
};

TEST(LocalCacheSimulation, EachAnswerIsOneThatTheModelGaveLately) {
  uint64_t first = 1, last = 40;
  if (const char* only = std::getenv("ATOLL_SIMULATION_SEED"); only != nullptr) {
    first = last = std::strtoull(only, nullptr, 10);
  }
  for (uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    CacheSimulation(seed, seed % 2 == 0).run(1500);
  }
}

}  // namespace
}  // namespace atl::caches
