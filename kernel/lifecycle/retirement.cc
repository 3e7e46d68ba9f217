#include "kernel/lifecycle/retirement.h"

#include <algorithm>

namespace atl::kernel {
namespace {

constexpr int64_t kReportsAfterNs[] = {1 * kNsPerSecond, 10 * kNsPerSecond};

}  // namespace

Retirement::Retirement(KernelContext& kernel, std::vector<std::shared_ptr<Instance>> instances,
                       int64_t deadline_ns)
    : kernel_(kernel),
      instances_(std::move(instances)),
      begun_ns_(kernel.clock.now_ns()),
      deadline_ns_(deadline_ns) {
  look_again_at(begun_ns_);
}

/// When there is something to be told, at the deadline at the latest.
void Retirement::look_again_at(int64_t now_ns) {
  while (reports_ < std::size(kReportsAfterNs) && now_ns >= begun_ns_ + kReportsAfterNs[reports_]) ++reports_;
  int64_t at_ns = deadline_ns_;
  if (reports_ < std::size(kReportsAfterNs)) at_ns = std::min(at_ns, begun_ns_ + kReportsAfterNs[reports_]);
  kernel_.loop.cancel(timer_);
  timer_ = kernel_.loop.post_at(at_ns, make_task([poke = kernel_.poke] { poke(); }));
}

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
  const int64_t now_ns = kernel_.clock.now_ns();
  if (overrun_ || done()) return ended;
  if (now_ns >= deadline_ns_) {
    overrun_ = true;
    report(LogLevel::kWarning);
    end_all();
  } else if (reports_ < std::size(kReportsAfterNs) && now_ns >= begun_ns_ + kReportsAfterNs[reports_]) {
    report(LogLevel::kInfo);
    look_again_at(now_ns);
  }
  return ended;
}

/// Those that drain have to be let go of. Those that come after them may say what that waits for: a frontend knows of a call, and
/// the models' plugin which model has it. Who has nothing of its own waits for the others' work and is not the one to blame.
std::vector<Retirement::Holder> Retirement::holders() const {
  std::vector<Holder> found;
  std::string waiting;
  for (const auto& instance : instances_) {
    const std::string held = instance->draining() ? instance->held_by() : instance->holding();
    if (!held.empty()) {
      found.push_back({instance->text(), held});
    } else if (instance->draining()) {
      waiting += cat(waiting.empty() ? "" : ", ", instance->text());
    }
  }
  if (found.empty() && !waiting.empty()) {
    found.push_back({waiting, "a task of another instance that may be in its code"});
  }
  return found;
}

bool Retirement::bars_a_return() const {
  return std::ranges::any_of(instances_, [](const auto& one) { return one->bars_its_return(); });
}

std::string Retirement::held_by() const {
  std::string text;
  for (const auto& [who, what] : holders()) text += cat(text.empty() ? "" : ", ", who, ": ", what);
  return text;
}

void Retirement::report(LogLevel level) const {
  const int64_t waited_ms = (kernel_.clock.now_ns() - begun_ns_) / kNsPerMs;
  for (const auto& [who, what] : holders()) {
    if (kernel_.log.enabled(level)) {
      kernel_.log.write(level, cat(who, ": still draining after ", waited_ms, " ms: ", what));
    }
  }
}

}  // namespace atl::kernel
