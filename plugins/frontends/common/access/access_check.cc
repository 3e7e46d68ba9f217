#include "frontends/common/access/access_check.h"

#include <utility>

namespace atl::frontends {

bool AccessCheck::ask(const AccessPoint& point, const AccessQuestion& question,
                      void (*settled)(void* owner) noexcept, void* owner) noexcept {
  caller_.clear();
  outcome_ = {};
  identity_.reset();
  is_about_caller_ = false;
  asked_ = true;
  if (point.has_sources()) {
    outcome_ = point.identify(question, &identity_);
    is_about_caller_ = !outcome_.ok();
    if (is_about_caller_) return true;
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
  return std::move(outcome_);
}

}  // namespace atl::frontends
