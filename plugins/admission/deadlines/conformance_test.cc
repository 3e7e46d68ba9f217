#include "admission/deadlines/testing/admission_bench.h"
#include "atoll/testing/conformance/execution_admission.h"
#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/conformance/request_admission.h"
#include "atoll/testing/thread_executor.h"

namespace atl::test {
namespace {

struct OnThreads {
  ThreadExecutors threads;
  deadlines::DeadlineAdmission admission{{{1}, 1, kNsPerSecond}, threads.clock()};
};

std::shared_ptr<ExecutionAdmission> make_executions() {
  auto made = std::make_shared<OnThreads>();
  return {made, &made->admission};
}

INSTANTIATE_TEST_SUITE_P(Deadlines, ExecutionAdmissionConformance,
                         ::testing::Values(ExecutionAdmissionProvider{
                             "deadlines",
                             make_executions,
                             {unsupported("NobodyWaitsWhoNeedsNothing", "every execution needs the device"),
                              unsupported("TwoThatAlwaysWantShareByTheirPriority", "deadlines decide")},
                             true}));

std::shared_ptr<RequestAdmission> make_requests(uint32_t) {
  auto made = std::make_shared<deadlines::AdmissionBench>();
  made->teach();
  return {made, &made->admission};
}

/// A model that takes 10 ms, and a client that waits for 5.
void deny(TestRequest& request) {
  static FakeServedModel model(deadlines::named_model("m"));
  request->model = &model;
  request->times.start_ns = deadlines::AdmissionBench::kTaughtNs;
  request->times.deadline_ns = deadlines::AdmissionBench::kTaughtNs + 5 * kNsPerMs;
}

INSTANTIATE_TEST_SUITE_P(Deadlines, RequestAdmissionConformance,
                         ::testing::Values(RequestAdmissionProvider{
                             "deadlines", make_requests, {}, false, deny}));

class AdmittedExecutions final : public MetricSourceUnderTest {
 public:
  MetricSource& source() override { return bench_.admission; }
  void use() override { bench_.execute(kNsPerMs); }

 private:
  deadlines::AdmissionBench bench_;
};

INSTANTIATE_TEST_SUITE_P(Deadlines, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "deadlines", [] { return std::make_shared<AdmittedExecutions>(); }, {}}));

}  // namespace
}  // namespace atl::test
