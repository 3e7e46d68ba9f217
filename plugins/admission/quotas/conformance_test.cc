#include "admission/quotas/request_gate.h"
#include "admission/quotas/testing/control_bench.h"
#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/conformance/request_admission.h"
#include "atoll/testing/thread_executor.h"

namespace atl::test {
namespace {

struct StartedGate {
  explicit StartedGate(quotas::AdmissionSettings settings)
      : gate(std::move(settings), true, threads.clock()) {
    EXPECT_TRUE(is_ok(gate.start(threads, 2)));
  }
  ~StartedGate() { gate.stop(); }
  ThreadExecutors threads;
  quotas::RequestGate gate;
};

std::shared_ptr<RequestAdmission> make_gate(uint32_t waiting) {
  using quotas::settings_with;
  auto made = std::make_shared<StartedGate>(settings_with({}, cat("concurrency=1,queue=", waiting)));
  return {made, &made->gate};
}

std::shared_ptr<RequestAdmission> make_counting_gate(uint64_t tokens) {
  using quotas::settings_with;
  auto made = std::make_shared<StartedGate>(settings_with({}, cat("tokens=1/h,token_burst=", tokens)));
  return {made, &made->gate};
}

INSTANTIATE_TEST_SUITE_P(RequestGate, RequestAdmissionConformance,
                         ::testing::Values(RequestAdmissionProvider{"quota of a tenant",
                                                                    make_gate,
                                                                    {},
                                                                    /*limits=*/true,
                                                                    nullptr,
                                                                    make_counting_gate}));

/// Requests that come and go, and of each two one that waits or is refused.
class GatedRequests final : public MetricSourceUnderTest, private MetricSource {
 public:
  MetricSource& source() override { return *this; }
  void use() override {
    AdmissionProbe first(made_.gate), second(made_.gate);
    auto outcome = first.ask();
    ASSERT_TRUE(is_ok(outcome));
    // Not always at once: the last one of the use before, which is still being resumed, goes first.
    if (*outcome == AdmissionOutcome::kWaits) {
      ASSERT_TRUE(first.wait());
    }
    ASSERT_TRUE(first.status.ok());
    made_.gate.used(first.ticket, {.prompt = 3, .generated = 2});
    auto other = second.ask();
    ASSERT_TRUE(is_ok(other));
    first.end();
    ASSERT_TRUE(second.wait());
    second.end();
  }

 private:
  void collect(MetricSink& sink) const noexcept override { made_.gate.collect(sink); }
  StartedGate made_{quotas::settings_with({}, "concurrency=1,queue=1")};
};

INSTANTIATE_TEST_SUITE_P(RequestGate, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "gate", [] { return std::make_shared<GatedRequests>(); }, {}}));

}  // namespace
}  // namespace atl::test
