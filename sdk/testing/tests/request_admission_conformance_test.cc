/// The suite of request admission against deny lists, which make nobody wait, right and broken on purpose.
#include "atoll/testing/conformance/request_admission.h"

namespace atl::test {
namespace {

enum class AdmissionFault { kNone, kAdmitsTheDenied, kLimitsAsWell, kSilent };

/// Refuses the tenant "denied".
class DenyList final : public RequestAdmission {
 public:
  explicit DenyList(AdmissionFault fault) : fault_(fault) {}
  virtual ~DenyList() = default;
  bool active() const noexcept override { return true; }
  Result<AdmissionOutcome> ask(Request& request, uint64_t, AdmissionWaiter&,
                               AdmissionTicket*) noexcept override {
    if (request.tenant == "denied" && fault_ != AdmissionFault::kAdmitsTheDenied) {
      return Status(Code::kPermissionDenied,
                    fault_ == AdmissionFault::kSilent ? "" : "tenant 'denied' is denied");
    }
    if (running_.fetch_add(1) > 10 && fault_ == AdmissionFault::kLimitsAsWell) {
      --running_;
      return Status(Code::kUnavailable, "too many");
    }
    return AdmissionOutcome::kAdmitted;
  }
  void ended(const AdmissionTicket&) noexcept override { --running_; }

 private:
  const AdmissionFault fault_;
  std::atomic<int> running_{0};
};

RequestAdmissionProvider deny_list(std::string name, AdmissionFault fault,
                                   const std::vector<std::string>& fails = {}) {
  RequestAdmissionProvider provider;
  provider.name = std::move(name);
  provider.make = [fault](uint32_t) { return std::make_shared<DenyList>(fault); };
  provider.limits = false;
  provider.deny = [](TestRequest& request) { request->tenant = "denied"; };
  for (const std::string& check : fails) provider.exceptions.push_back(expected_failure(check, "on purpose"));
  return provider;
}

RequestAdmissionProvider nothing() {
  RequestAdmissionProvider provider =
      deny_list("nothing", AdmissionFault::kNone, {"TheDeniedAreRefusedAndStayWithTheCaller"});
  provider.deny = nullptr;
  return provider;
}

INSTANTIATE_TEST_SUITE_P(
    DenyLists, RequestAdmissionConformance,
    ::testing::Values(
        deny_list("right", AdmissionFault::kNone),
        deny_list("admits_the_denied", AdmissionFault::kAdmitsTheDenied,
                  {"TheDeniedAreRefusedAndStayWithTheCaller", "ManyThreadsAreDeniedOrAdmittedEachOnce"}),
        deny_list("silent", AdmissionFault::kSilent, {"TheDeniedAreRefusedAndStayWithTheCaller"}),
        deny_list("limits_as_well", AdmissionFault::kLimitsAsWell,
                  {"OneRunsTheNextWaitsAndIsResumedOnce", "TheyAreResumedInTheOrderInWhichTheyAsked",
                   "TooManyAreRefusedWithATimeToTryAgain", "CancellingEndsTheWait", "ADeadlineEndsTheWait",
                   "ManyThreadsEachGetOneOutcomeAndOneRunsAtATime"}),
        nothing()),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace atl::test
