#include "frontends/common/access/access_check.h"

#include <utility>

namespace atl::frontends {

namespace {

constexpr std::string_view kWrongCredential = "credential";
constexpr std::string_view kRefusedByProvider = "provider";

}  // namespace

bool AccessCheck::ask(const AccessPoint& point, const AccessQuestion& question, const CallName& name,
                      void (*settled)(void* owner) noexcept, void* owner, const CallerPlace* place) noexcept {
  caller_.clear();
  outcome_ = {};
  forget();
  report_ = point.begin_report(question, name);
  is_about_caller_ = false;
  asked_ = true;
  if (point.has_sources()) {
    outcome_ = point.identify(question, &identity_, report_, place,
                              name.goes_on ? std::make_shared<UsedModels>() : nullptr);
    is_about_caller_ = !outcome_.ok();
    if (is_about_caller_) {
      refuse_caller(question);
      return true;
    }
    if (identity_ != nullptr) caller_ = identity_->get().name();
  }
  judge_ = point.judge_.hold();
  if (!judge_) {
    if (point.judge_.is_present() ||
        (point.others_.load(std::memory_order_acquire) & AccessPoint::kLost) != 0)
      outcome_ = unavailable("access to this server cannot be checked now");
    return true;
  }
  settled_ = settled;
  owner_ = owner;
  std::string_view caller;
  Result<AccessOutcome> answer = judge_->ask(question, *this, &caller);
  if (answer.ok() && *answer == AccessOutcome::kWaits) {
    pass_ = Pass(point.host_.gate());
    return false;
  }
  if (answer.ok() && identity_ == nullptr) caller_ = caller;
  outcome_ = std::move(answer).status();
  return true;
}

void AccessCheck::on_access(Status outcome, std::string_view caller) noexcept {
  if (outcome.ok() && identity_ == nullptr) caller_ = caller;
  outcome_ = std::move(outcome);
  settled_(owner_);
}

Status AccessCheck::take_answer(std::string_view* caller) noexcept {
  asked_ = false;
  judge_.reset();
  pass_.reset();
  *caller = caller_;
  if (report_ != nullptr && !is_about_caller_) {
    if (!outcome_.ok()) report_->deny(std::string(kRefusedByProvider), outcome_.message());
    if (identity_ == nullptr && !caller_.empty()) report_->set_caller(caller_, {}, {});
  }
  return std::move(outcome_);
}

bool AccessCheck::renew(const AccessPoint& point, const AccessQuestion& question) noexcept {
  outcome_ = point.renew(question, &identity_, report_);
  if (!outcome_.ok()) refuse_caller(question);
  return std::exchange(outcome_, {}).ok();
}

void AccessCheck::refuse_caller(const AccessQuestion& question) noexcept {
  const bool is_known = identity_ != nullptr;
  identity_.reset();
  if (report_ != nullptr)
    report_->deny(std::string(is_known ? question.category_name : kWrongCredential), outcome_.message());
}

void AccessCheck::end_report() noexcept {
  report_->send();
  report_.reset();
}

}  // namespace atl::frontends
