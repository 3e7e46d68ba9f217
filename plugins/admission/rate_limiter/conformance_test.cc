#include "admission/rate_limiter/rate_limiter.h"
#include "atoll/testing/conformance/execution_admission.h"
#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/thread_executor.h"

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
    ::testing::Values(ExecutionAdmissionProvider{"largest demand", [] { return make_limiter({}); }, {}, true},
                      ExecutionAdmissionProvider{
                          "explicit copies",
                          [] { return make_limiter(admission::ResourceLimits::parse({"R:1"}).value()); },
                          {},
                          true}));

/// One instance that executes again and again.
class LimitedExecutions final : public MetricSourceUnderTest, private AdmissionListener {
 public:
  LimitedExecutions() {
    ExecutionDemand demand;
    demand.model = "m";
    demand.resources = {{"R", 1, false}};
    auto added = limiter_.limiter.add_instance(demand);
    EXPECT_TRUE(is_ok(added));
    if (added.ok()) instance_ = std::move(added).value();
  }
  MetricSource& source() override { return limiter_.limiter; }
  void use() override {
    ASSERT_TRUE(instance_->ask(*this, nullptr, false));
    instance_->end(true);
  }

 private:
  void admitted(void*) noexcept override { ADD_FAILURE() << "nobody waits"; }
  Limiter limiter_{{}};
  std::unique_ptr<AdmittedInstance> instance_;
};

INSTANTIATE_TEST_SUITE_P(RateLimiter, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "rate limiter", [] { return std::make_shared<LimitedExecutions>(); }, {}}));

}  // namespace
}  // namespace atl::test
