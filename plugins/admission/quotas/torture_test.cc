// The service with real threads: requests, ends, cancellations, deadlines and scrapes at the same time.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "admission/quotas/testing/gate_bench.h"
#include "atoll/testing/random.h"
#include "atoll/testing/recorded_metrics.h"

namespace atl::quotas {
namespace {

constexpr uint64_t kThreads = 4;
constexpr uint64_t kRequestsEach = 1000;
constexpr uint64_t kSlots = 3;
constexpr uint64_t kOfA = 2;

/// One request at a time, run and ended by whoever resumes it, or by its own thread.
class Caller final : public AdmissionWaiter {
 public:
  Caller(RequestGate& gate, std::atomic<uint64_t>& running, std::atomic<uint64_t>& running_of_a)
      : gate_(gate), running_(running), running_of_a_(running_of_a) {}
  virtual ~Caller() = default;

  void begin(Request& request, bool is_a, uint64_t priority) {
    is_a_ = is_a;
    outcomes_ = 0;
    AdmissionTicket ticket;
    auto outcome = gate_.ask(request, priority, *this, &ticket);
    if (!outcome.ok()) {
      count(outcome.status().code());
    } else if (outcome.value() == AdmissionOutcome::kAdmitted) {
      run(ticket);
    }
  }
  void resume(Request&, Status outcome, const AdmissionTicket& ticket) noexcept override {
    outcome.ok() ? run(ticket) : count(outcome.code());
  }
  /// The request may be used again when this returns. \returns how often it was answered
  int wait() {
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [this] { return outcomes_ != 0; });
    return outcomes_;
  }
  std::array<uint64_t, 17> codes = {};
  bool over_limit = false;

 private:
  void run(const AdmissionTicket& ticket) {
    bool is_over = ++running_ > kSlots;
    if (is_a_ && ++running_of_a_ > kOfA) is_over = true;
    std::this_thread::yield();
    if (is_a_) --running_of_a_;
    --running_;
    gate_.ended(ticket);
    over_limit = over_limit || is_over;
    count(Code::kOk);
  }
  void count(Code code) {
    std::lock_guard lock(mutex_);
    ++codes[static_cast<size_t>(code)];
    ++outcomes_;
    answered_.notify_all();
  }

  RequestGate& gate_;
  std::atomic<uint64_t>& running_;
  std::atomic<uint64_t>& running_of_a_;
  std::mutex mutex_;
  std::condition_variable answered_;
  int outcomes_ = 0;
  bool is_a_ = false;
};

TEST(Torture, RequestsCancellationsDeadlinesAndScrapes) {
  test::FakeHost host("test", test::FakeHost::Threads::kReal);
  AdmissionSettings settings = settings_with({cat("a:queue=2,concurrency=", kOfA)});
  settings.tenants.others_apart = true;
  settings.tenants.max_others = 2;
  settings.concurrency = kSlots;
  settings.max_wait_ns = kNsPerMs;
  settings.in_flight_limit = 2 * kThreads;
  settings.queue_delay_ns = kNsPerMs / 10;
  settings.queue_interval_ns = kNsPerMs;
  RequestGate gate(settings, true, host.clock());
  ASSERT_TRUE(gate.start(host.executors(), 2).ok());
  std::atomic<uint64_t> running{0}, running_of_a{0}, wrong{0}, answered{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      test::Random random(thread);
      // Several at a time, so that they wait for each other.
      std::vector<std::unique_ptr<Caller>> callers;
      for (int i = 0; i < 4; ++i) callers.push_back(std::make_unique<Caller>(gate, running, running_of_a));
      std::vector<std::unique_ptr<Request>> requests(callers.size());
      for (uint64_t i = 0; i < kRequestsEach; i += callers.size()) {
        for (size_t one = 0; one < callers.size(); ++one) {
          requests[one] = std::make_unique<Request>();
          Request& request = *requests[one];
          const bool is_a = random.chance(50);
          request.tenant = is_a ? "a" : random.chance(50) ? "x" : "y";
          if (random.chance(30)) {
            request.times.deadline_ns = host.clock().now_ns() + random.between(0, 200) * kNsPerUs;
          }
          callers[one]->begin(request, is_a, random.below(3));
        }
        for (auto& request : requests) {
          if (random.chance(30)) request->cancellation.cancel();
        }
        for (auto& caller : callers) wrong += caller->wait() != 1;
      }
      for (auto& caller : callers) {
        wrong += caller->over_limit;
        for (uint64_t count : caller->codes) answered += count;
      }
    });
  }
  std::thread scraper([&] {
    while (!stop) test::RecordedMetrics scrape(gate);
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  scraper.join();
  gate.stop();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(answered, kThreads * kRequestsEach);
  EXPECT_EQ(gate.in_flight(), 0U);
}

}  // namespace
}  // namespace atl::quotas
