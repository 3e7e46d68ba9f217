#include "atoll/testing/conformance/execution_admission.h"
#include "atoll/testing/conformance/request_admission.h"
#include "atoll/testing/thread_executor.h"
#include "rate_limiter.h"
#include "requests/control_bench.h"
#include "requests/request_gate.h"

namespace atl::test {
namespace {

struct Limiter {
  explicit Limiter(admission::ResourceLimits limits) : limiter(std::move(limits), threads.clock()) {}
  ThreadExecutors threads;
  admission::RateLimiter limiter;
};

std::shared_ptr<ExecutionAdmission> make_limiter(admission::ResourceLimits limits) {
  auto made = std::make_shared<Limiter>(std::move(limits));
  return {made, &made->limiter};
}

INSTANTIATE_TEST_SUITE_P(
    RateLimiter, ExecutionAdmissionConformance,
    ::testing::Values(ExecutionAdmissionProvider{"largest demand", [] { return make_limiter({}); }, {}},
                      ExecutionAdmissionProvider{
                          "explicit copies",
                          [] { return make_limiter(admission::ResourceLimits::parse({"R:1"}).value()); },
                          {}}));

struct StartedGate {
  explicit StartedGate(admission::requests::AdmissionSettings settings)
      : gate(std::move(settings), true, threads.clock()) {
    EXPECT_TRUE(is_ok(gate.start(threads, 2)));
  }
  ~StartedGate() { gate.stop(); }
  ThreadExecutors threads;
  admission::requests::RequestGate gate;
};

std::shared_ptr<RequestAdmission> make_gate(uint32_t waiting) {
  using admission::requests::settings_with;
  auto made = std::make_shared<StartedGate>(settings_with({}, cat("concurrency=1,queue=", waiting)));
  return {made, &made->gate};
}

INSTANTIATE_TEST_SUITE_P(RequestGate, RequestAdmissionConformance,
                         ::testing::Values(RequestAdmissionProvider{"quota of a tenant", make_gate, {}}));

}  // namespace
}  // namespace atl::test
