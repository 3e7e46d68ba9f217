#include "goodput/decisions.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <vector>

#include "admission/deadlines/deadline_admission.h"
#include "atoll/core/text.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_clock.h"
#include "atoll/testing/recording_sink.h"

namespace atl::goodput {
namespace {

constexpr uint32_t kDecisionModels = 1'000;
constexpr uint32_t kDecisions = 20'000;
constexpr int64_t kSoonestNs = 100 * kNsPerMs;

class Decisions final : private AdmissionListener, private AdmissionWaiter {
 public:
  Decisions() {
    for (uint32_t i = 0; i < kDecisionModels; ++i) {
      ExecutionDemand demand;
      demand.model = cat("model_", i);
      demand.version = 1;
      demand.max_batch_size = 8;
      instances_.push_back(admission_.add_instance(demand).value());
      ModelInfo info;
      info.name = demand.model;
      info.version = 1;
      models_.push_back(std::make_unique<test::FakeServedModel>(info));
      for (int n = 0; n < 8; ++n) {
        (void)instances_[i]->ask(*this, nullptr, false);
        instances_[i]->begins(1, 0);
        clock_.advance(2 * kNsPerMs);
        instances_[i]->end(true);
      }
    }
  }
  /// \param waiting  models in which a request waits, behind one that runs
  /// \param each_ns  between the deadlines of those that wait: executions take 2 ms, so with less than that
  ///                 most of them are late
  void measure(uint32_t waiting, int64_t each_ns) {
    const int64_t now_ns = clock_.now_ns();
    (void)instances_[0]->ask(*this, nullptr, false);
    instances_[0]->begins(1, 0);
    for (uint32_t i = 1; i <= waiting; ++i) {
      instances_[i]->arrived({now_ns, now_ns + kSoonestNs + i * each_ns, 1});
      (void)instances_[i]->ask(*this, nullptr, false);
    }
    // At once, in the middle of those that wait, and behind them.
    const int64_t deadlines_ns[] = {now_ns + 3 * kNsPerMs,
                                    now_ns + kSoonestNs + waiting / 2 * each_ns + kNsPerMs,
                                    now_ns + 2 * kSoonestNs + waiting * each_ns};
    std::vector<int64_t> taken, refused;
    test::TestRequest request;
    AdmissionTicket ticket;
    for (uint32_t i = 0; i < kDecisions; ++i) {
      request->model = models_[(waiting + 1 + i) % kDecisionModels].get();
      request->times.start_ns = now_ns;
      request->times.deadline_ns = deadlines_ns[i % std::size(deadlines_ns)];
      const auto begun = std::chrono::steady_clock::now();
      const bool is_taken = admission_.ask(*request, 0, *this, &ticket).ok();
      const auto took = std::chrono::steady_clock::now() - begun;
      (is_taken ? taken : refused).push_back(std::chrono::nanoseconds(took).count());
    }
    std::printf(
        "decision with %u models, requests waiting in %u%s: taken p50 %.1f us p99 %.1f us, refused p50 %.1f us p99 %.1f us\n",
        kDecisionModels, waiting, each_ns < 2 * kNsPerMs && waiting != 0 ? ", most of them late" : "",
        at(taken, 0.5), at(taken, 0.99), at(refused, 0.5), at(refused, 0.99));
    for (uint32_t i = 1; i <= waiting; ++i) {
      (void)instances_[i]->withdraw();
      instances_[i]->left(0);
    }
    instances_[0]->end(true);
  }

 private:
  void admitted(void*) noexcept override {}
  void resume(Request&, Status, const AdmissionTicket&) noexcept override {}
  static double at(std::vector<int64_t>& values, double share) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return static_cast<double>(values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))]) /
           1e3;
  }

  test::FakeClock clock_;
  deadlines::DeadlineAdmission admission_{{{1}, 1, kNsPerSecond}, clock_};
  std::vector<std::unique_ptr<AdmittedInstance>> instances_;
  std::vector<std::unique_ptr<test::FakeServedModel>> models_;
};

}  // namespace

void measure_decisions() {
  Decisions decisions;
  for (uint32_t waiting : {0U, 10U, 40U, 200U, kDecisionModels - 1}) decisions.measure(waiting, 4 * kNsPerMs);
  decisions.measure(kDecisionModels - 1, 0);
}

}  // namespace atl::goodput
