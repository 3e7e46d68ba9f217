/// BatchFormer, which remembers from look to look, beside one that starts anew each time and beside the rules
/// themselves, written down once more over a plain list.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "atoll/testing/random.h"
#include "atoll/testing/recording_sink.h"
#include "schedulers/common/batch/batch_former.h"

namespace atl::schedulers {
namespace {

BatchCompatibility compare_x() {
  BatchCompatibility rules;
  rules.compared = {{"X", false, -1}};
  rules.has_batch_dimension = true;
  return rules;
}

BatchDecision by_the_rules(const std::vector<Request*>& queue, const BatchRules& rules,
                           const BatchCompatibility& compatibility, int64_t now_ns) {
  if (queue.empty()) return {};
  auto is_preferred = [&](uint64_t size) {
    return std::count(rules.preferred_sizes.begin(), rules.preferred_sizes.end(), size) != 0;
  };
  uint64_t size = 0;
  uint32_t count = 0, best_count = 0, best_size = 0;
  int64_t oldest_ns = INT64_MAX;
  bool send_now = false;
  for (Request* request : queue) {
    uint64_t weight = request->batch_weight();
    if (count != 0) {
      if (size + weight > rules.preferred_max() && best_count == 0) {
        best_count = count;
        best_size = static_cast<uint32_t>(size);
      }
      send_now = size + weight > rules.size_max || !compatibility.fit(*queue[0], *request);
      if (send_now) break;
    }
    ++count;
    size += weight;
    oldest_ns = std::min(oldest_ns, request->times.queue_start_ns);
    if (is_preferred(size)) {
      best_count = count;
      best_size = static_cast<uint32_t>(size);
    }
  }
  bool late = rules.delay_ns != 0 && now_ns - oldest_ns >= rules.delay_ns;
  if (best_count != 0 && !late) return {best_count, best_size};
  if (send_now || size >= rules.preferred_max() || late || rules.delay_ns == 0) {
    return {count, static_cast<uint32_t>(size)};
  }
  return {0, 0, oldest_ns + rules.delay_ns};
}

/// Asks for the same at every look, whatever was asked before: batches of requests of the same parity.
class ParityStrategy final : public BatchStrategy {
 public:
  ~ParityStrategy() override { EXPECT_EQ(open_, 0) << "a batch that began has to end"; }
  void* begin() noexcept override {
    ++open_;
    return new int(-1);
  }
  bool include(Request& request, void* record) noexcept override {
    int& parity = *static_cast<int*>(record);
    if (parity == -1) parity = static_cast<int>(request.timeout_us % 2);
    return parity == static_cast<int>(request.timeout_us % 2);
  }
  void end(void* record) noexcept override {
    --open_;
    delete static_cast<int*>(record);
  }

 private:
  int open_ = 0;
};

class FormerBesideFresh {
 public:
  FormerBesideFresh(uint64_t seed, bool with_strategy)
      : random_(seed),
        strategy_(with_strategy ? std::make_unique<ParityStrategy>() : nullptr),
        rules_(random_rules()),
        queue_(random_policies()),
        former_(std::make_unique<BatchFormer>(queue_, rules_, compatibility_, strategy_.get())) {}
  ~FormerBesideFresh() { former_.reset(); }

  void step() {
    now_ns_ += random_.between(0, 20 * kNsPerUs);
    uint64_t choice = random_.below(100);
    if (choice < 60) {
      push();
    } else if (choice < 66) {
      remove_one();
    } else if (choice < 72) {
      RequestQueue rejected;
      if (queue_.expire(now_ns_, rejected)) former_->forget();
      while (rejected.pop_front() != nullptr) {
      }
    } else if (choice < 73) {
      rules_.delay_ns = random_.between(0, 3) * 80 * kNsPerUs;
      former_->set_delay(rules_.delay_ns);
    } else {
      decide();
    }
  }
  uint64_t batches() const { return batches_; }
  uint64_t waits() const { return waits_; }

 private:
  BatchRules random_rules() {
    BatchRules rules;
    rules.size_max = static_cast<uint32_t>(random_.below(40) + 1);
    for (uint32_t size = 1; size <= rules.size_max; ++size) {
      if (random_.chance(8)) rules.preferred_sizes.push_back(size);
    }
    if (rules.preferred_sizes.empty()) rules.preferred_sizes.push_back(rules.size_max);
    rules.delay_ns = random_.between(0, 3) * 80 * kNsPerUs;
    return rules;
  }
  QueuePolicies random_policies() {
    QueuePolicies policies;
    policies.priority_levels = random_.below(4);
    policies.default_priority_level = policies.priority_levels;
    policies.default_policy.timeout_action =
        random_.chance(50) ? TimeoutAction::kDelay : TimeoutAction::kReject;
    policies.default_policy.default_timeout_us = random_.chance(40) ? 0 : 60;
    return policies;
  }
  void push() {
    if (queue_.size() > 40) return;
    requests_.push_back(std::make_unique<test::TestRequest>());
    auto weight = static_cast<uint32_t>(random_.chance(70) ? 1 : random_.below(14) + 1);
    requests_.back()->add_raw_input("X", DataType::kFp32, {weight, random_.chance(85) ? 1 : 2}, {});
    Request& request = requests_.back()->request();
    request.batch_size = weight;
    request.priority = random_.below(5);
    request.timeout_us = random_.chance(85) ? 1 : 2;
    request.times.queue_start_ns = now_ns_;
    ASSERT_TRUE(queue_.push(request, now_ns_));
    former_->arrived(request);
  }
  std::vector<Request*> in_order() const {
    std::vector<Request*> all;
    for (Request* one = queue_.front(); one != nullptr; one = queue_.after(*one)) all.push_back(one);
    return all;
  }
  void remove_one() {
    std::vector<Request*> all = in_order();
    if (all.empty()) return;
    former_->forget();
    queue_.remove(*all[random_.below(all.size())]);
  }
  static void expect_equal(const BatchDecision& a, const BatchDecision& b) {
    ASSERT_EQ(a.count, b.count);
    ASSERT_EQ(a.size, b.size);
    ASSERT_EQ(a.recheck_ns, b.recheck_ns);
  }
  void decide() {
    BatchDecision decision = former_->decide(now_ns_);
    BatchFormer fresh(queue_, rules_, compatibility_, strategy_.get());
    expect_equal(decision, fresh.decide(now_ns_));
    if (strategy_ == nullptr) {
      expect_equal(decision, by_the_rules(in_order(), rules_, compatibility_, now_ns_));
    }
    ++(decision.count == 0 ? waits_ : batches_);
    if (decision.count == 0) return;
    former_->forget();
    for (uint32_t i = 0; i < decision.count; ++i) queue_.remove(*queue_.front());
  }

  test::Random random_;
  std::unique_ptr<ParityStrategy> strategy_;
  BatchRules rules_;
  BatchCompatibility compatibility_ = compare_x();
  std::vector<std::unique_ptr<test::TestRequest>> requests_;
  PolicyQueue queue_;
  std::unique_ptr<BatchFormer> former_;
  int64_t now_ns_ = kNsPerSecond;
  uint64_t batches_ = 0, waits_ = 0;
};

void compare(bool with_strategy) {
  uint64_t batches = 0, waits = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    FormerBesideFresh both(seed, with_strategy);
    for (int step = 0; step < 300 && !::testing::Test::HasFatalFailure(); ++step) both.step();
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed;
    batches += both.batches();
    waits += both.waits();
  }
  EXPECT_GT(batches, 1'000u);
  EXPECT_GT(waits, 1'000u) << "what is remembered is seen only then";
}

TEST(BatchFormerProperty, DecidesByTheRulesWhateverItRemembers) { compare(false); }
TEST(BatchFormerProperty, DecidesWithAStrategyAsIfItRememberedNothing) { compare(true); }

}  // namespace
}  // namespace atl::schedulers
