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

enum class CountingFault { kNone, kForgetsThePrompt, kNeverRefuses, kRefusesWhatIsAllowed, kPaysBack };

/// Refuses everybody when so many tokens are used up.
class TokenLimit final : public RequestAdmission {
 public:
  TokenLimit(uint64_t tokens, CountingFault fault) : tokens_(tokens), fault_(fault) {}
  virtual ~TokenLimit() = default;
  bool active() const noexcept override { return true; }
  Result<AdmissionOutcome> ask(Request& request, uint64_t, AdmissionWaiter&,
                               AdmissionTicket*) noexcept override {
    const uint64_t limit = fault_ == CountingFault::kRefusesWhatIsAllowed ? tokens_ / 2 : tokens_;
    if (used_ <= limit || fault_ == CountingFault::kNeverRefuses) return AdmissionOutcome::kAdmitted;
    request.retry_after_ms = 1000;
    return Status(Code::kResourceExhausted, "too many tokens");
  }
  void ended(const AdmissionTicket&) noexcept override {
    if (fault_ == CountingFault::kPaysBack) used_ = 0;
  }
  bool counts_tokens() const noexcept override { return true; }
  void used(const AdmissionTicket&, const TokenUse& use) noexcept override {
    used_ += use.generated + (fault_ == CountingFault::kForgetsThePrompt ? 0 : use.prompt);
  }

 private:
  const uint64_t tokens_;
  const CountingFault fault_;
  std::atomic<uint64_t> used_{0};
};

RequestAdmissionProvider token_limit(std::string name, CountingFault fault,
                                     const std::vector<std::string>& fails = {}) {
  RequestAdmissionProvider provider = deny_list(std::move(name), AdmissionFault::kNone, fails);
  provider.make_counting = [fault](uint64_t tokens) { return std::make_shared<TokenLimit>(tokens, fault); };
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
        nothing(), token_limit("counts", CountingFault::kNone),
        token_limit("forgets_the_prompt", CountingFault::kForgetsThePrompt,
                    {"WhoHasUsedMoreTokensThanItMayIsRefused", "ManyThreadsUseTokensThatAllCount"}),
        token_limit("never_refuses", CountingFault::kNeverRefuses,
                    {"WhoHasUsedMoreTokensThanItMayIsRefused", "ManyThreadsUseTokensThatAllCount"}),
        token_limit("refuses_what_is_allowed", CountingFault::kRefusesWhatIsAllowed,
                    {"WhoHasUsedMoreTokensThanItMayIsRefused", "ManyThreadsUseTokensThatAllCount"}),
        token_limit("pays_back", CountingFault::kPaysBack, {"WhoHasUsedMoreTokensThanItMayIsRefused"})),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace atl::test
