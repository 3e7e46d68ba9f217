#include "goodput/decisions.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
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
constexpr int kDecisions = 20'000;

class Decisions final : private AdmissionListener, private AdmissionWaiter {
 public:
  Decisions() {
    for (uint32_t i = 0; i < kDecisionModels; ++i) {
      ExecutionDemand demand;
      demand.model = cat("model_", i);
      demand.version = 1;
      demand.max_batch_size = 8;
      demand.latency_target_ns = 100 * kNsPerMs;
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
  void measure(uint32_t waiting) {
    (void)instances_[0]->ask(*this, nullptr, false);
    instances_[0]->begins(1, 0);
    for (uint32_t i = 1; i <= waiting; ++i) {
      instances_[i]->arrived({clock_.now_ns(), 0, 1});
      (void)instances_[i]->ask(*this, nullptr, false);
    }
    std::vector<int64_t> taken, refused;
    test::TestRequest request;
    AdmissionTicket ticket;
    for (int i = 0; i < kDecisions; ++i) {
      request->model =
          models_[waiting + 1 + static_cast<uint32_t>(i) % (kDecisionModels - waiting - 1)].get();
      request->times.start_ns = clock_.now_ns();
      request->times.deadline_ns = i % 2 == 0 ? 0 : clock_.now_ns() + 3 * kNsPerMs;
      const auto begun = std::chrono::steady_clock::now();
      const bool is_taken = admission_.ask(*request, 0, *this, &ticket).ok();
      const auto took = std::chrono::steady_clock::now() - begun;
      (is_taken ? taken : refused).push_back(std::chrono::nanoseconds(took).count());
    }
    std::printf(
        "decision with %u models, requests waiting in %u: taken p50 %.1f us p99 %.1f us, refused p50 %.1f us p99 %.1f us\n",
        kDecisionModels, waiting, at(taken, 0.5), at(taken, 0.99), at(refused, 0.5), at(refused, 0.99));
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
  for (uint32_t waiting : {0U, 10U, 40U}) decisions.measure(waiting);
}

}  // namespace atl::goodput
