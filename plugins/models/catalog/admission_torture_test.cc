// Providers of admission that come and go under requests of many threads: none is let go of while a request
// still needs it, and each is told of the end of every request that it admitted.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/request/request_admission.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

constexpr int kThreads = 4;
constexpr int kProviders = 150;

/// There all the time, before the others: refuses every fifth request, of what the others never hear.
class RefusingAdmission final : public RequestAdmission {
 public:
  virtual ~RefusingAdmission() = default;
  bool active() const noexcept override { return true; }
  Result<AdmissionOutcome> ask(Request&, uint64_t, AdmissionWaiter&,
                               AdmissionTicket* ticket) noexcept override {
    if (++asked % 5 == 0) return Status(Code::kResourceExhausted, "denied");
    ticket->data[0] = 1;
    return AdmissionOutcome::kAdmitted;
  }
  void ended(const AdmissionTicket& ticket) noexcept override { ended_count += ticket.data[0]; }
  uint64_t admitted() const { return asked - asked / 5; }
  std::atomic<uint64_t> asked{0};
  std::atomic<uint64_t> ended_count{0};
};

/// Every third request waits until another one comes, or the test says so.
class CountingAdmission final : public RequestAdmission {
 public:
  virtual ~CountingAdmission() = default;
  bool active() const noexcept override { return true; }
  Result<AdmissionOutcome> ask(Request& request, uint64_t, AdmissionWaiter& waiter,
                               AdmissionTicket* ticket) noexcept override {
    resume_waiting();
    if (++asked % 3 == 0) {
      std::lock_guard lock(mutex_);
      waiting_.emplace_back(&request, &waiter);
      return AdmissionOutcome::kWaits;
    }
    ticket->data[0] = 1;
    return AdmissionOutcome::kAdmitted;
  }
  void ended(const AdmissionTicket& ticket) noexcept override { ended_count += ticket.data[0]; }
  void resume_waiting() {
    std::vector<std::pair<Request*, AdmissionWaiter*>> resumed;
    {
      std::lock_guard lock(mutex_);
      resumed.swap(waiting_);
    }
    for (auto [request, waiter] : resumed) waiter->resume(*request, {}, {{1, 0, 0}});
  }
  std::atomic<uint64_t> asked{0};
  std::atomic<uint64_t> ended_count{0};

 private:
  std::mutex mutex_;
  std::vector<std::pair<Request*, AdmissionWaiter*>> waiting_;
};

TEST(AdmissionTorture, ProvidersComeAndGoUnderRequests) {
  CatalogBench bench(CatalogBench::Threads::kReal);
  bench.put("a");
  std::atomic<bool> loaded{false}, stop{false};
  bench.catalog().load({"a"}, [&](const std::vector<ModelLoadResult>&) { loaded = true; });
  while (!loaded) std::this_thread::yield();
  const std::string id(RequestAdmission::kInterfaceId);
  RefusingAdmission refusing;
  bench.host.registry().publish<RequestAdmission>("refusing", refusing, kProviders);
  bench.publish_change(id, "refusing", ServiceChanged::Kind::kPublished);
  std::atomic<uint64_t> wrong{0}, answered{0}, refused{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        auto model = bench.catalog().acquire("a", 1);
        test::TestRequest request;
        fill_simple(request);
        Status status = request.infer(*model->get());
        if (status.code() == Code::kResourceExhausted) {
          wrong += !request.problems().empty();
          ++refused;
          continue;
        }
        wrong += !status.ok() || !request.wait_done() || !request.problems().empty() ||
                 request.response().code != Code::kOk;
        ++answered;
      }
    });
  }
  std::unique_ptr<CountingAdmission> before;
  for (int i = 0; i < kProviders; ++i) {
    auto next = std::make_unique<CountingAdmission>();
    const std::string name = cat("p", i);
    bench.host.registry().publish<RequestAdmission>(name, *next, i);
    bench.publish_change(id, name, ServiceChanged::Kind::kPublished);
    const std::string old = cat("p", i - 1);
    bench.host.registry().withdraw(id, old);
    if (before != nullptr) bench.publish_change(id, old, ServiceChanged::Kind::kWithdrawn);
    while (before != nullptr && bench.host.registry().holders(id, old) != 0) {
      before->resume_waiting();
      next->resume_waiting();  // who waits there may have come when both were asked
      std::this_thread::yield();
    }
    EXPECT_TRUE(before == nullptr || before->asked == before->ended_count);
    before = std::move(next);
    const uint64_t seen = answered;
    while (answered < seen + 20) {
      before->resume_waiting();
      std::this_thread::yield();
    }
  }
  stop = true;
  std::atomic<bool> joined{false};
  std::thread waker([&] {
    while (!joined) before->resume_waiting();
  });
  for (std::thread& thread : threads) thread.join();
  joined = true;
  waker.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(refused, refusing.asked / 5);
  EXPECT_EQ(refusing.ended_count, refusing.admitted());
  bench.end();
  EXPECT_EQ(bench.host.registry().holders(), 0U);
  EXPECT_EQ(bench.host.gate().count(), 0);
}

}  // namespace
}  // namespace atl::models
