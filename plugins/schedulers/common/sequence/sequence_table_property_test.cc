/// SequenceTable beside a model of it that is too plain to be wrong, over seeded random operations. To repeat
/// one seed: ATOLL_SIMULATION_SEED=<seed> schedulers_common_test
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"
#include "atoll/testing/random.h"
#include "atoll/testing/sanitized.h"
#include "schedulers/common/sequence/sequence_table.h"

namespace atl::schedulers {
namespace {

constexpr uint64_t kTableSeeds = test::kSanitized ? 40 : 400;
constexpr uint64_t kTableSteps = 5'000;
constexpr int64_t kIdleNs = 40'000;

struct PlainSequence {
  std::string id;
  Sequence* real = nullptr;
  std::deque<Request*> waiting;
  bool has_slot = false;
  SequenceSlot slot;
  bool running = false;
  Request* taken = nullptr;
  bool closed = false;
  uint64_t ready_order = 0;
  int64_t since_ns = 0;  // when it became ready, or idle
  uint64_t idle_order = 0;

  bool is_ready() const { return has_slot && !running && !waiting.empty(); }
  bool is_idle() const { return has_slot && !running && waiting.empty(); }
};

// Where a test notes what the table does not look at.
int64_t& timeout_ns_of(Request& request) { return request.times.deadline_ns; }
uint64_t& arrival_of(Request& request) { return request.priority; }

/// Everything by searching through everything.
struct PlainTable {
  SequenceLimits limits;
  std::list<PlainSequence> all;  // in the order in which they began
  uint64_t order = 0;

  PlainSequence* find(const std::string& id) {
    for (PlainSequence& one : all) {
      if (!one.closed && one.id == id) return &one;
    }
    return nullptr;
  }
  bool is_taken(const SequenceSlot& slot) const {
    return std::any_of(all.begin(), all.end(),
                       [&](const PlainSequence& one) { return one.has_slot && one.slot == slot; });
  }
  /// Whoever began first among those without a slot takes the lowest free one, as long as there are both.
  void fill_slots(int64_t now_ns) {
    for (PlainSequence& one : all) {
      if (one.has_slot) continue;
      for (uint32_t row = 0; row < limits.slots_each && !one.has_slot; ++row) {
        for (uint32_t instance = 0; instance < limits.instances && !one.has_slot; ++instance) {
          if (is_taken({instance, row})) continue;
          one.slot = {instance, row};
          one.has_slot = true;
          one.since_ns = now_ns;
          if (!one.waiting.empty()) one.ready_order = ++order;
        }
      }
    }
  }
  void drop_ended(int64_t now_ns) {
    all.remove_if([](const PlainSequence& one) { return one.closed && !one.running && one.waiting.empty(); });
    fill_slots(now_ns);
  }
  /// The request whose timeout runs out first, the earlier one of two at once; null: there is none.
  static Request* first_timeout(const PlainSequence& one) {
    Request* first = nullptr;
    for (Request* request : one.waiting) {
      if (timeout_ns_of(*request) == DeadlineHeap::kNever || one.has_slot) continue;
      if (first == nullptr || is_earlier(*request, *first)) first = request;
    }
    return first;
  }
  static bool is_earlier(Request& left, Request& right) {
    return std::pair(timeout_ns_of(left), arrival_of(left)) <
           std::pair(timeout_ns_of(right), arrival_of(right));
  }
};

class Comparison {
 public:
  explicit Comparison(uint64_t seed)
      : random_(seed),
        limits_{static_cast<uint32_t>(1 + seed % 3), static_cast<uint32_t>(1 + seed / 3 % 3), kIdleNs},
        table_(limits_) {
    plain_.limits = limits_;
  }

  void run() {
    for (uint64_t step = 0; step < kTableSteps && !::testing::Test::HasFailure(); ++step) {
      now_ns_ += random_.between(0, 2'000);
      const uint64_t choice = random_.below(100);
      if (choice < 45) {
        add();
      } else if (choice < 70) {
        take();
      } else if (choice < 90) {
        finish(choice < 74);
      } else if (choice < 95) {
        end(step % 500 == 0);
      } else {
        if (choice == 99) now_ns_ += kIdleNs;
        time_passes();
      }
      compare(step);
    }
  }

 private:
  void add() {
    Request& request = *requests_.emplace_back(std::make_unique<Request>());
    const uint64_t id = random_.below(9);
    request.sequence.text = kTexts[id < 3 ? id : 3];
    request.sequence.number = id < 3 ? 0 : id;
    request.sequence_flags =
        (random_.chance(35) ? kSequenceStart : 0u) | (random_.chance(15) ? kSequenceEnd : 0u);
    if (random_.chance(20)) request.timeout_us = static_cast<uint64_t>(random_.between(1, 30));
    const std::string key = id < 3 ? std::string(request.sequence.text) : cat("#", id);
    PlainSequence* plain = plain_.find(key);
    Sequence* real = table_.add(request, now_ns_);
    if (plain == nullptr && (request.sequence_flags & kSequenceStart) == 0) {
      EXPECT_EQ(real, nullptr);
      requests_.pop_back();
      return;
    }
    ASSERT_NE(real, nullptr);
    if (plain == nullptr) {
      plain = &plain_.all.emplace_back();
      plain->id = key;
      plain->real = real;
      plain_.fill_slots(now_ns_);
    }
    EXPECT_EQ(plain->real, real);
    if (plain->is_idle()) {
      plain->ready_order = ++plain_.order;
      plain->since_ns = now_ns_;
    }
    plain->waiting.push_back(&request);
    if ((request.sequence_flags & kSequenceEnd) != 0) plain->closed = true;
    arrival_of(request) = ++plain_.order;
    timeout_ns_of(request) = request.timeout_us == 0
                                 ? DeadlineHeap::kNever
                                 : now_ns_ + static_cast<int64_t>(request.timeout_us) * kNsPerUs;
  }
  PlainSequence* any_of(bool (*fits)(const PlainSequence&)) {
    std::vector<PlainSequence*> found;
    for (PlainSequence& one : plain_.all) {
      if (fits(one)) found.push_back(&one);
    }
    return found.empty() ? nullptr : found[random_.below(found.size())];
  }
  void take() {
    PlainSequence* one = any_of([](const PlainSequence& each) { return each.is_ready(); });
    if (one == nullptr) return;
    EXPECT_EQ(&table_.take(*one->real), one->waiting.front());
    one->taken = one->waiting.front();
    one->waiting.pop_front();
    one->running = true;
  }
  void finish(bool given_back) {
    PlainSequence* one = any_of([](const PlainSequence& each) { return each.running; });
    if (one == nullptr) return;
    if (given_back) {
      table_.give_back(*one->real, *one->taken, now_ns_);
      one->waiting.push_front(one->taken);
    } else {
      table_.finished(*one->real, now_ns_);
    }
    one->running = false;
    one->since_ns = now_ns_;
    one->idle_order = ++plain_.order;
    if (!one->waiting.empty()) one->ready_order = ++plain_.order;
    plain_.drop_ended(now_ns_);
  }
  void expect_taken(RequestQueue& real, PlainSequence& one) {
    while (!one.waiting.empty()) {
      EXPECT_EQ(real.pop_front(), one.waiting.front());
      one.waiting.pop_front();
    }
    one.closed = true;
  }
  void end(bool all) {
    PlainSequence* one = any_of([](const PlainSequence&) { return true; });
    if (one == nullptr) return;
    RequestQueue waiting;
    if (all) return end_all();
    table_.end(*one->real, now_ns_, waiting);
    expect_taken(waiting, *one);
    EXPECT_TRUE(waiting.empty());
    plain_.drop_ended(now_ns_);
  }
  void end_all() {
    RequestQueue waiting;
    table_.end_all(now_ns_, waiting);
    uint64_t count = 0;
    for (PlainSequence& one : plain_.all) {
      count += one.waiting.size();
      one.waiting.clear();
      one.closed = true;
    }
    EXPECT_EQ(waiting.size(), count);
    plain_.drop_ended(now_ns_);
  }
  void time_passes() {
    RequestQueue expired;
    uint64_t ended = table_.expire(now_ns_, expired);
    while (true) {
      PlainSequence* first = nullptr;
      Request* first_request = nullptr;
      for (PlainSequence& one : plain_.all) {
        Request* request = PlainTable::first_timeout(one);
        if (request == nullptr || timeout_ns_of(*request) >= now_ns_) continue;
        if (first != nullptr && !PlainTable::is_earlier(*request, *first_request)) continue;
        first = &one;
        first_request = request;
      }
      if (first == nullptr) break;
      expect_taken(expired, *first);
      plain_.drop_ended(now_ns_);
      --ended;
    }
    EXPECT_EQ(ended, 0u);
    EXPECT_TRUE(expired.empty());
    ended = table_.end_idle(now_ns_);
    // A slot that becomes free goes to somebody who has something to do, so nobody becomes idle by it.
    std::vector<PlainSequence*> idle;
    for (PlainSequence& one : plain_.all) {
      if (one.is_idle() && now_ns_ - one.since_ns > kIdleNs) idle.push_back(&one);
    }
    std::sort(idle.begin(), idle.end(), [](const PlainSequence* left, const PlainSequence* right) {
      return left->idle_order < right->idle_order;
    });
    EXPECT_EQ(ended, idle.size());
    for (PlainSequence* one : idle) {
      one->closed = true;
      plain_.drop_ended(now_ns_);
    }
  }

  void compare(uint64_t step) {
    SCOPED_TRACE(cat("step ", step));
    EXPECT_EQ(table_.open(), plain_.all.size());
    uint64_t waiting = 0, with_slot = 0;
    int64_t due_ns = DeadlineHeap::kNever;
    for (const PlainSequence& one : plain_.all) {
      waiting += one.waiting.size();
      with_slot += one.has_slot;
      EXPECT_EQ(one.real->is_closed(), one.closed);
      ASSERT_EQ(one.real->has_slot(), one.has_slot);
      EXPECT_EQ(one.real->is_running(), one.running);
      EXPECT_EQ(one.real->front(), one.waiting.empty() ? nullptr : one.waiting.front());
      EXPECT_EQ(one.has_slot ? table_.at(one.slot) : one.real, one.real);
      if (one.is_idle()) due_ns = std::min(due_ns, one.since_ns + kIdleNs + 1);
      if (Request* first = PlainTable::first_timeout(one); first != nullptr)
        due_ns = std::min(due_ns, timeout_ns_of(*first) + 1);
    }
    EXPECT_EQ(table_.waiting(), waiting);
    EXPECT_EQ(table_.slots_in_use(), with_slot);
    EXPECT_EQ(table_.backlog().size(), plain_.all.size() - with_slot);
    EXPECT_EQ(table_.next_due_ns(), due_ns);
    for (uint32_t instance = 0; instance < limits_.instances; ++instance) compare_ready(instance);
  }
  void compare_ready(uint32_t instance) {
    std::vector<const PlainSequence*> ready;
    for (const PlainSequence& one : plain_.all) {
      if (one.is_ready() && one.slot.instance == instance) ready.push_back(&one);
    }
    std::sort(ready.begin(), ready.end(), [](const PlainSequence* left, const PlainSequence* right) {
      return left->ready_order < right->ready_order;
    });
    const Sequence* real = table_.ready(instance).front();
    for (const PlainSequence* one : ready) {
      ASSERT_EQ(real, one->real);
      EXPECT_EQ(real->ready_since_ns(), one->since_ns);
      real = SequenceList::after(*real);
    }
    EXPECT_EQ(real, nullptr);
  }

  static constexpr std::string_view kTexts[] = {"a", "b", "3", ""};

  test::Random random_;
  const SequenceLimits limits_;
  SequenceTable table_;
  PlainTable plain_;
  int64_t now_ns_ = 0;
  std::vector<std::unique_ptr<Request>> requests_;
};

TEST(SequenceTableProperty, DoesWhatAPlainTableDoes) {
  if (const char* only = std::getenv("ATOLL_SIMULATION_SEED"); only != nullptr) {
    Comparison(std::strtoull(only, nullptr, 10)).run();
    return;
  }
  for (uint64_t seed = 1; seed <= kTableSeeds; ++seed) {
    SCOPED_TRACE(cat("ATOLL_SIMULATION_SEED=", seed));
    Comparison(seed).run();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace atl::schedulers
