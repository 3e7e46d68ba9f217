#include "atoll/testing/conformance/execution_admission.h"
#include "atoll/testing/thread_executor.h"
#include "rate_limiter.h"

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

}  // namespace
}  // namespace atl::test
