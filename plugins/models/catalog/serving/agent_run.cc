#include "models/catalog/serving/agent_run.h"

namespace atl::models {

Result<ModelAgent*> AgentRun::begin(const AgentOrder& order) {
  Result<std::unique_ptr<ModelAgent>> begun = service_->begin(order);
  if (!begun.ok()) return std::move(begun).status();
  if (*begun == nullptr) {
    return internal_error("'", instance_, "' gave no repository agent '", order.agent, "'");
  }
  agents_.push_back(std::move(begun).value());
  return agents_.back().get();
}

void AgentRun::loaded() noexcept {
  std::scoped_lock lock(mutex_);
  if (state_ != State::kBegun) return;
  state_ = State::kLoaded;
  for (const auto& agent : agents_) agent->loaded();
}

void AgentRun::fail() noexcept {
  std::scoped_lock lock(mutex_);
  if (state_ == State::kBegun) drop();
}

void AgentRun::unload() noexcept {
  loaded();  // the load may be about to say so
  std::scoped_lock lock(mutex_);
  if (state_ != State::kLoaded) return;
  state_ = State::kUnloaded;
  for (const auto& agent : agents_) agent->unload();
}

bool AgentRun::is_loaded() const noexcept {
  std::scoped_lock lock(mutex_);
  return state_ == State::kLoaded;
}

/// In the order in which they were begun.
void AgentRun::drop() noexcept {
  for (auto& agent : agents_) agent = nullptr;
  agents_.clear();
}

}  // namespace atl::models
