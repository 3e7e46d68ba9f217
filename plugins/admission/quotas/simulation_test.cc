// Seeded simulations: who gets how much, and that nothing is lost, whatever comes when.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <queue>
#include <set>

#include "admission/quotas/testing/control_bench.h"
#include "admission/quotas/testing/gate_bench.h"
#include "atoll/testing/random.h"

namespace atl::quotas {
namespace {

/// Tenants that always have requests waiting; one event after the other.
class Backlog {
 public:
  struct Member {
    std::string name;
    uint32_t weight = 1;
    int64_t shortest_ns = 0, longest_ns = 0;
    double used_ns = 0;  ///< of slots
  };

  Backlog(uint64_t seed, uint64_t slots, std::vector<Member> members)
      : random_(seed), members_(std::move(members)), bench_(settings_for(slots, members_)) {}

  void run(uint64_t turns) {
    for (Member& member : members_) {
      for (uint64_t i = 0; i < 2 * bench_.control.settings().concurrency; ++i) send(member);
    }
    for (uint64_t i = 0; i < turns; ++i) {
      auto [end_ns, waiter] = running_.top();
      running_.pop();
      bench_.now_ns = end_ns;
      Member& member = member_of(*waiter);
      member.used_ns += static_cast<double>(end_ns - waiter->admitted_ns);
      bench_.end(*waiter);
      start_decided();
      send(member);
      if (i > turns / 10) track();
    }
  }
  /// Of the slots' time in use; 1 is what the weights promise.
  double share(const Member& member) const {
    double used = 0, weights = 0;
    for (const Member& one : members_) {
      used += one.used_ns;
      weights += one.weight;
    }
    return member.used_ns / used / (member.weight / weights);
  }
  const std::vector<Member>& members() const { return members_; }
  /// The largest difference that the use of two tenants, over their weights, ever came to since the first
  /// tenth.
  double spread_ns() const { return highest_ns_ - lowest_ns_; }

 private:
  using Ending = std::pair<int64_t, Waiter*>;

  static AdmissionSettings settings_for(uint64_t slots, const std::vector<Member>& members) {
    std::vector<std::string> tenants;
    for (const Member& member : members) tenants.push_back(cat(member.name, ":weight=", member.weight));
    AdmissionSettings settings = settings_with(tenants);
    settings.concurrency = slots;
    return settings;
  }
  Member& member_of(const Waiter& waiter) {
    return *std::find_if(members_.begin(), members_.end(),
                         [&](const Member& one) { return one.name == waiter.tenant->name; });
  }
  void start(Waiter& waiter) {
    Member& member = member_of(waiter);
    running_.push({bench_.now_ns + random_.between(member.shortest_ns, member.longest_ns), &waiter});
  }
  void send(Member& member) {
    auto sent = bench_.send(member.name);
    if (sent.arrival == AdmissionControl::Arrival::kAdmitted) start(sent.waiter);
    start_decided();
  }
  void start_decided() {
    for (Waiter* waiter : bench_.decided) start(*waiter);
    bench_.decided.clear();
  }
  void track() {
    const double apart = members_[0].used_ns / members_[0].weight - members_[1].used_ns / members_[1].weight;
    if (highest_ns_ == 0 && lowest_ns_ == 0) highest_ns_ = lowest_ns_ = apart;
    highest_ns_ = std::max(highest_ns_, apart);
    lowest_ns_ = std::min(lowest_ns_, apart);
  }

  test::Random random_;
  std::vector<Member> members_;
  ControlBench bench_;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> running_;
  double highest_ns_ = 0, lowest_ns_ = 0;
};

TEST(Fairness, SlotsAreSharedByWeightWhateverRequestsTake) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Backlog backlog(seed, 8,
                    {{"long", 1, 50 * kNsPerMs, 150 * kNsPerMs},
                     {"short", 1, kNsPerMs / 2, kNsPerMs},
                     {"double", 2, kNsPerMs, 20 * kNsPerMs},
                     {"five", 5, 5 * kNsPerMs, 5 * kNsPerMs}});
    backlog.run(100'000);
    for (const auto& member : backlog.members()) {
      EXPECT_NEAR(backlog.share(member), 1, 0.03) << member.name << ", seed " << seed;
    }
  }
}

TEST(Fairness, NobodyEverDriftsAway) {
  constexpr uint64_t kSlots = 4;
  constexpr int64_t kLongest = 10 * kNsPerMs;
  for (uint64_t turns : {20'000, 200'000}) {
    Backlog backlog(turns, kSlots, {{"a", 1, kNsPerMs, kLongest}, {"b", 3, kNsPerMs, kLongest}});
    backlog.run(turns);
    EXPECT_LE(backlog.spread_ns(), 2.0 * static_cast<double>((kSlots + 1) * kLongest))
        << "however long it goes on";
  }
}

TEST(Fairness, AnImpossibleShareGoesToTheOthers) {
  // "a" may have half, and has one slot of eight at most.
  AdmissionSettings settings = settings_with({"a:weight=2,concurrency=1", "b:", "c:"});
  settings.concurrency = 8;
  ControlBench bench(settings);
  std::map<std::string, uint64_t> ended;
  std::deque<Waiter*> running;
  const auto send = [&](const std::string& name) {
    auto sent = bench.send(name);
    if (sent.arrival == AdmissionControl::Arrival::kAdmitted) running.push_back(&sent.waiter);
    running.insert(running.end(), bench.decided.begin(), bench.decided.end());
    bench.decided.clear();
  };
  for (int i = 0; i < 60; ++i) send(std::string(1, static_cast<char>('a' + i % 3)));
  for (int i = 0; i < 8000; ++i) {
    bench.now_ns += kNsPerMs;
    Waiter* first = running.front();
    running.pop_front();
    bench.end(*first);
    ++ended[first->tenant->name];
    send(first->tenant->name);
    EXPECT_EQ(running.size(), 8U);
  }
  EXPECT_NEAR(static_cast<double>(ended["a"]), 1000, 30);
  EXPECT_NEAR(static_cast<double>(ended["b"]), 3500, 105);
  EXPECT_NEAR(static_cast<double>(ended["c"]), 3500, 105);
}

/// Clients of every kind on the whole service: each request is answered once, limits hold, nothing waits
/// where it could run.
class Storm {
 public:
  explicit Storm(uint64_t seed) : random_(seed), bench_(settings_for(random_), seed) {}

  void run(uint64_t requests) {
    for (uint64_t i = 0; i < requests; ++i) {
      bench_.host.run_for(random_.between(0, 3 * kNsPerMs));
      check();
      if (random_.chance(20)) cancel_one();
      send();
      check_limits();
    }
    for (int i = 0; i < 1000 && !alive_.empty(); ++i) {
      bench_.host.run_for(20 * kNsPerMs);
      check();
    }
    EXPECT_TRUE(alive_.empty()) << "somebody is never answered";
    EXPECT_EQ(bench_.gate.in_flight(), 0U);
    for (const auto& request : bench_.requests) {
      EXPECT_TRUE(request->state == State::kRefused || request->state == State::kAnswered ||
                  request->state == State::kEnded);
      EXPECT_LE(request->resumes, 1U);
      ++outcomes_[static_cast<size_t>(request->status.code())];
    }
  }
  uint64_t outcomes(Code code) const { return outcomes_[static_cast<size_t>(code)]; }

 private:
  using State = GatedRequest::State;
  static constexpr std::array<std::string_view, 5> kNames = {"a", "b", "c", "x", "y"};
  static constexpr uint64_t kOfA = 2, kOfB = 3, kOfOthers = 4;

  AdmissionSettings settings_for(test::Random& random) {
    AdmissionSettings settings = settings_with({cat("a:concurrency=", kOfA, ",queue=5,weight=3"),
                                                cat("b:rate=100/s,burst=5,concurrency=", kOfB), "c:"},
                                               cat("concurrency=", kOfOthers));
    settings.tenants.others_apart = random.chance(50);
    settings.tenants.max_others = 1;
    settings.concurrency = random.chance(70) ? 6 : 0;
    settings.max_wait_ns = random.chance(70) ? 40 * kNsPerMs : 0;
    settings.in_flight_limit = random.chance(50) ? 20 : 0;
    if (settings.concurrency != 0 && random.chance(70)) {
      settings.queue_delay_ns = 10 * kNsPerMs;
      settings.queue_interval_ns = 30 * kNsPerMs;
    }
    settings_ = settings;
    return settings;
  }
  void send() {
    const std::string_view name = kNames[random_.below(kNames.size())];
    bench_.requests.push_back(std::make_unique<GatedRequest>(name));
    GatedRequest& request = *bench_.requests.back();
    if (random_.chance(30)) {
      request.made->times.deadline_ns = bench_.host.clock().now_ns() + random_.between(-1, 50) * kNsPerMs;
    }
    if (random_.chance(10)) request.made->timeout_us = random_.below(50'000);
    if (random_.chance(2)) request.made.cancel();
    request.ask(bench_.gate, random_.below(4));
    alive_.insert(&request);
    look(request);
  }
  void cancel_one() {
    if (alive_.empty()) return;
    auto at = alive_.begin();
    std::advance(at, static_cast<int64_t>(random_.below(alive_.size())));
    (*at)->made.cancel();
  }
  /// A request whose state may have changed.
  void look(GatedRequest& request) {
    if (request.state == State::kRuns && !running_.contains(&request)) {
      running_[&request] = bench_.host.clock().now_ns() + random_.between(0, 20) * kNsPerMs;
    }
    if (request.state != State::kWaits && request.state != State::kRuns) alive_.erase(&request);
  }
  void end_due(int64_t now_ns) {
    for (auto at = running_.begin(); at != running_.end();) {
      if (at->second > now_ns) {
        ++at;
        continue;
      }
      at->first->end();
      alive_.erase(at->first);
      at = running_.erase(at);
    }
  }
  void check() {
    end_due(bench_.host.clock().now_ns());
    bench_.host.run_ready();
    for (auto at = alive_.begin(); at != alive_.end();) look(**at++);
    check_limits();
    for (std::string_view name : kNames) {
      if (count(name, State::kWaits) == 0) continue;
      const bool is_full = settings_.concurrency != 0 && running_.size() >= settings_.concurrency;
      EXPECT_TRUE(is_full || at_limit(name)) << name << " could run";
    }
  }
  void check_limits() {
    EXPECT_LE(count("a", State::kRuns), kOfA);
    EXPECT_LE(count("b", State::kRuns), kOfB);
    if (settings_.tenants.others_apart) return check_total();
    EXPECT_LE(count("x", State::kRuns) + count("y", State::kRuns), kOfOthers);
    check_total();
  }
  void check_total() {
    EXPECT_TRUE(settings_.concurrency == 0 || running_.size() <= settings_.concurrency);
    EXPECT_TRUE(settings_.in_flight_limit == 0 || bench_.gate.in_flight() <= settings_.in_flight_limit);
  }
  bool at_limit(std::string_view name) const {
    if (name == "a") return count(name, State::kRuns) == kOfA;
    if (name == "b") return count(name, State::kRuns) == kOfB;
    if (name == "c") return false;
    // Apart, each of them may be the one that is kept or the one that is not.
    return count("x", State::kRuns) + count("y", State::kRuns) >= kOfOthers;
  }
  uint64_t count(std::string_view name, State state) const {
    return static_cast<uint64_t>(std::count_if(alive_.begin(), alive_.end(), [&](const GatedRequest* one) {
      return const_cast<GatedRequest*>(one)->made->tenant == name && one->state == state;
    }));
  }

  test::Random random_;
  AdmissionSettings settings_;
  GateBench bench_;
  std::set<GatedRequest*> alive_;
  std::map<GatedRequest*, int64_t> running_;  ///< with the time when each ends
  std::array<uint64_t, 17> outcomes_ = {};
};

TEST(Simulation, EveryRequestHasOneOutcomeAndLimitsHold) {
  std::array<uint64_t, 17> seen = {};
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Storm storm(seed);
    storm.run(1500);
    for (size_t code = 0; code < seen.size(); ++code) seen[code] += storm.outcomes(static_cast<Code>(code));
    if (::testing::Test::HasFailure()) return;
  }
  for (Code code :
       {Code::kOk, Code::kCancelled, Code::kResourceExhausted, Code::kUnavailable, Code::kDeadlineExceeded}) {
    EXPECT_GT(seen[static_cast<size_t>(code)], 100U) << code_name(code);
  }
}

/// Requests come at a rate of their own, more than can be done.
TEST(Simulation, UnderOverloadTheImportantOnesGetThrough) {
  AdmissionSettings settings = settings_with({});
  settings.concurrency = 10;
  settings.queue_delay_ns = 20 * kNsPerMs;
  settings.queue_interval_ns = 100 * kNsPerMs;
  ControlBench bench(settings);
  test::Random random(7);
  using Ending = std::pair<int64_t, Waiter*>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> running;
  const auto start = [&](Waiter& waiter) {
    running.push({bench.now_ns + random.between(5, 15) * kNsPerMs, &waiter});
  };
  const auto start_decided = [&] {
    for (Waiter* waiter : std::exchange(bench.decided, {})) {
      if (!waiter->refused) start(*waiter);
    }
  };
  const int64_t begin_ns = bench.now_ns;
  // A thousand a second can be done. 600 of level 1 and 1400 of level 2 come.
  for (int64_t at = 0; at < 10 * kNsPerSecond; at += kNsPerMs / 2) {
    while (!running.empty() && running.top().first <= begin_ns + at) {
      auto [end_ns, waiter] = running.top();
      running.pop();
      bench.now_ns = end_ns;
      bench.end(*waiter);
      start_decided();
    }
    bench.now_ns = begin_ns + at;
    auto sent = bench.send("", random.chance(30) ? 1 : 2);
    if (sent.arrival == AdmissionControl::Arrival::kAdmitted) start(sent.waiter);
    start_decided();
  }
  std::array<uint64_t, 3> came = {}, ran = {};
  int64_t longest_ns = 0;
  for (const Waiter& waiter : bench.waiters) {
    if (waiter.since_ns < begin_ns + kNsPerSecond) continue;
    ++came[waiter.priority];
    if (waiter.refused || waiter.admitted_ns == 0) continue;
    ++ran[waiter.priority];
    if (waiter.priority == 1) longest_ns = std::max(longest_ns, waiter.admitted_ns - waiter.since_ns);
  }
  EXPECT_GE(static_cast<double>(ran[1]), 0.99 * static_cast<double>(came[1]));
  EXPECT_GE(static_cast<double>(ran[1] + ran[2]), 0.95 * 9000) << "nothing that could be done is left undone";
  EXPECT_LE(longest_ns, 50 * kNsPerMs);
}

}  // namespace
}  // namespace atl::quotas
