#include "atoll/testing/conformance/request_admission.h"
#include "atoll/testing/thread_executor.h"
#include "quotas/request_gate.h"
#include "quotas/testing/control_bench.h"

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

INSTANTIATE_TEST_SUITE_P(RequestGate, RequestAdmissionConformance,
                         ::testing::Values(RequestAdmissionProvider{"quota of a tenant", make_gate, {}}));

}  // namespace
}  // namespace atl::test
