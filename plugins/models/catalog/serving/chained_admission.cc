#include "models/catalog/serving/chained_admission.h"

#include <algorithm>

namespace atl::models {

void ChainedAdmission::prepare(AdmissionListener& listener, void* context, bool insists) noexcept {
  listener_ = &listener;
  context_ = context;
  insists_.store(insists, std::memory_order_release);
}

bool ChainedAdmission::ask_second() noexcept {
  return second_->ask(*listener_, context_, insists_.load(std::memory_order_acquire));
}

bool ChainedAdmission::ask(AdmissionListener& listener, void* context, bool insists) noexcept {
  prepare(listener, context, insists);
  return (first_ == nullptr || first_->ask(*this, nullptr, insists)) && ask_second();
}

bool ChainedAdmission::ask_again(AdmissionListener& listener, void* context, bool insists) noexcept {
  if (first_ == nullptr) return second_->ask_again(listener, context, insists);
  prepare(listener, context, insists);
  second_->end(true);
  return first_->ask_again(*this, nullptr, insists) && ask_second();
}

/// Of the first one, which waits for this to return when the instance withdraws.
void ChainedAdmission::admitted(void*) noexcept {
  if (ask_second()) listener_->admitted(context_);
}

void ChainedAdmission::end(bool executed) noexcept {
  second_->end(executed);
  if (first_ != nullptr) first_->end(executed);
}

bool ChainedAdmission::withdraw() noexcept {
  if (first_ != nullptr && first_->withdraw()) return true;
  if (!second_->withdraw()) return false;
  if (first_ != nullptr) first_->end(false);
  return true;
}

void ChainedAdmission::insist() noexcept {
  insists_.store(true, std::memory_order_release);
  if (first_ != nullptr) first_->insist();
  second_->insist();
}

void ChainedAdmission::arrived(const WaitingRequest& request) noexcept {
  if (first_ != nullptr) first_->arrived(request);
  if (second_follows_) second_->arrived(request);
}

void ChainedAdmission::left(uint64_t weight) noexcept {
  if (first_ != nullptr) first_->left(weight);
  if (second_follows_) second_->left(weight);
}

ExecutionGrant ChainedAdmission::grant() noexcept {
  ExecutionGrant whole = first_ == nullptr ? ExecutionGrant{} : first_->grant();
  if (!second_follows_) return whole;
  const ExecutionGrant one = second_->grant();
  return {std::min(whole.batch_size_max, one.batch_size_max), std::max(whole.ends_ns, one.ends_ns)};
}

void ChainedAdmission::begins(uint32_t batch_size, uint64_t weight) noexcept {
  if (first_ != nullptr) first_->begins(batch_size, weight);
  if (second_follows_) second_->begins(batch_size, weight);
}

/// It waits for one of them at a time.
std::vector<AdmissionShortage> ChainedAdmission::shortages() const noexcept {
  std::vector<AdmissionShortage> found;
  if (first_ != nullptr) found = first_->shortages();
  if (found.empty() && second_minor_ >= ExecutionAdmission::kShortagesMinor) found = second_->shortages();
  return found;
}

}  // namespace atl::models
