#include "frontends/common/call/call_gate.h"

#include <deque>
#include <mutex>

namespace atl::frontends {
namespace {

constexpr size_t kKept = 32;

}  // namespace

void CallGate::Keep::operator()(CallGate* gate) const noexcept {
  static std::mutex mutex;
  static auto& kept = *new std::deque<std::unique_ptr<CallGate>>;
  gate->close();
  std::lock_guard lock(mutex);
  kept.emplace_back(gate);
  if (kept.size() > kKept) kept.pop_front();
}

void CallGate::let_go() noexcept {
  if (holds_.exchange(false, std::memory_order_acq_rel)) of_host_.reset();
}

}  // namespace atl::frontends
