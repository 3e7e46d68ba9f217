#include "kernel/lifecycle/retirement.h"

#include <algorithm>

namespace atl::kernel {

Retirement::Retirement(KernelContext& kernel, std::vector<std::shared_ptr<Instance>> instances,
                       int64_t deadline_ns)
    : kernel_(kernel),
      instances_(std::move(instances)),
      begun_ns_(kernel.clock.now_ns()),
      deadline_ns_(deadline_ns),
      timer_(kernel.loop.post_at(deadline_ns, make_task([poke = kernel.poke] { poke(); }))) {}

// A holder through NEED_MANY may have started before the provider it holds; it is told to drain although the
// provider behind it in the order has not ended, because otherwise each would wait for the other.
bool Retirement::waits_for_earlier(size_t at) const {
  std::vector<Holding> holders = instances_[at]->holders();
  return std::any_of(
      instances_.begin(), instances_.begin() + static_cast<ptrdiff_t>(at), [&](const auto& earlier) {
        return !earlier->draining() &&
               std::any_of(holders.begin(), holders.end(),
                           [&](const Holding& holding) { return holding.holder == earlier->owner(); });
      });
}

std::shared_ptr<Instance> Retirement::end_one() {
  for (size_t i = instances_.size(); i-- > 0;) {
    std::shared_ptr<Instance> instance = instances_[i];
    if (!instance->draining()) instance->begin_drain(deadline_ns_);
    if (instance->quiescent()) {
      if (overrun_) kernel_.log.info(instance->text(), ": let go by its last holder, now stopped");
      instance->finish();
      instances_.erase(instances_.begin() + static_cast<ptrdiff_t>(i));
      return instance;
    }
    if (!overrun_ && !waits_for_earlier(i)) return nullptr;
  }
  return nullptr;
}

std::vector<std::shared_ptr<Instance>> Retirement::step() {
  std::vector<std::shared_ptr<Instance>> ended;
  auto end_all = [&] {
    while (std::shared_ptr<Instance> one = end_one()) ended.push_back(std::move(one));
  };
  end_all();
  if (!overrun_ && !done() && kernel_.clock.now_ns() >= deadline_ns_) {
    overrun_ = true;
    report_overrun();
    end_all();
  }
  return ended;
}

std::string Retirement::held_by() const {
  std::string text;
  for (const auto& instance : instances_) {
    if (instance->draining())
      text += cat(text.empty() ? "" : ", ", instance->text(), ": ", instance->held_by());
  }
  return text;
}

void Retirement::report_overrun() {
  int64_t waited_ms = (kernel_.clock.now_ns() - begun_ns_) / kNsPerMs;
  for (const auto& instance : instances_) {
    if (!instance->draining()) continue;
    kernel_.log.warning(instance->text(), ": still draining after ", waited_ms, " ms: ", instance->held_by());
  }
}

}  // namespace atl::kernel
