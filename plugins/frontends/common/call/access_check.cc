#include "frontends/common/call/access_check.h"

#include <utility>

namespace atl::frontends {

Result<Service<Access>> AccessPoint::find(Registry& registry) noexcept {
  Result<Service<Access>> found = registry.find<Access>();
  if (!found.ok()) lost_.store(found.status().code() != Code::kNotFound, std::memory_order_release);
  return found;
}

void AccessPoint::changed() noexcept {
  if (access_.is_present()) lost_.store(false, std::memory_order_release);
}

bool AccessCheck::ask(const AccessPoint& point, const AccessQuestion& question,
                      void (*settled)(void* owner) noexcept, void* owner) noexcept {
  caller_.clear();
  outcome_ = {};
  provider_ = point.access_.hold();
  asked_ = true;
  if (!provider_) {
    if (point.asks()) outcome_ = unavailable("access to this server cannot be checked now");
    return true;
  }
  settled_ = settled;
  owner_ = owner;
  std::string_view caller;
  Result<AccessOutcome> answer = provider_->ask(question, *this, &caller);
  if (answer.ok() && *answer == AccessOutcome::kWaits) {
    pass_ = Pass(point.host_gate_);
    return false;
  }
  if (answer.ok()) caller_ = caller;
  outcome_ = std::move(answer).status();
  return true;
}

void AccessCheck::on_access(Status outcome, std::string_view caller) noexcept {
  if (outcome.ok()) caller_ = caller;
  outcome_ = std::move(outcome);
  settled_(owner_);
}

Status AccessCheck::take_answer(std::string_view* caller) noexcept {
  asked_ = false;
  provider_.reset();
  pass_.reset();
  *caller = caller_;
  return std::move(outcome_);
}

}  // namespace atl::frontends
