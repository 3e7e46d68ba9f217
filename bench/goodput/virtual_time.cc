#include "goodput/virtual_time.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace atl::goodput {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

}  // namespace

/// An executor: a fiber that runs its tasks one after the other.
class VirtualTime::Fiber final : public SerialExecutor {
 public:
  explicit Fiber(VirtualTime& owner) : owner_(owner), stack_(std::make_unique<char[]>(kStackBytes)) {
    getcontext(&context);
    context.uc_stack.ss_sp = stack_.get();
    context.uc_stack.ss_size = kStackBytes;
    const auto address = reinterpret_cast<uintptr_t>(this);
    makecontext(&context, reinterpret_cast<void (*)()>(&Fiber::main), 2, static_cast<unsigned>(address >> 32),
                static_cast<unsigned>(address));
  }
  virtual ~Fiber() = default;

  void post(Task task) noexcept override {
    tasks_.push_back(task);
    if (!busy_) {
      busy_ = true;
      owner_.ready_.push_back(this);
    }
  }
  TimerId post_at(int64_t deadline_ns, Task task) noexcept override {
    const uint64_t id = owner_.next_timer_++;
    owner_.timer_of_[id] = owner_.timers_.insert({deadline_ns, {id, this, task}});
    return id;
  }
  bool cancel(TimerId timer) noexcept override {
    auto known = owner_.timer_of_.find(timer);
    if (known == owner_.timer_of_.end()) return false;
    const Task task = known->second->second.task;
    owner_.timers_.erase(known->second);
    owner_.timer_of_.erase(known);
    if (task.drop != nullptr) task.drop(task.argument);
    return true;
  }
  bool is_current() const noexcept override { return owner_.current_ == this; }
  void destroy() noexcept override {
    std::erase(owner_.ready_, this);
    for (auto timer = owner_.timers_.begin(); timer != owner_.timers_.end();) {
      auto here = timer++;
      if (here->second.fiber == this) (void)cancel(here->second.id);
    }
    for (const Task& task : tasks_) {
      if (task.drop != nullptr) task.drop(task.argument);
    }
    delete this;
  }

  ucontext_t context{};

 private:
  static void main(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<Fiber*>((static_cast<uintptr_t>(high) << 32) | low);
    while (true) {
      while (!self->tasks_.empty()) {
        const Task task = self->tasks_.front();
        self->tasks_.pop_front();
        task.run(task.argument);
      }
      self->busy_ = false;
      self->owner_.block();
    }
  }

  VirtualTime& owner_;
  std::unique_ptr<char[]> stack_;
  std::deque<Task> tasks_;
  bool busy_ = false;  // ready, running or blocked
};

Result<SerialExecutorPtr> VirtualTime::create(std::string_view, const ThreadPlacement&) noexcept {
  return SerialExecutorPtr(new Fiber(*this));
}

void VirtualTime::block() noexcept {
  if (current_ == nullptr) {
    std::fputs("goodput: what blocks does not run on an executor\n", stderr);
    std::abort();
  }
  swapcontext(&current_->context, &main_);
}

void VirtualTime::resume(Fiber& fiber) noexcept {
  current_ = &fiber;
  swapcontext(&main_, &fiber.context);
  current_ = nullptr;
}

void VirtualTime::run_ready() {
  while (!ready_.empty()) {
    Fiber& fiber = *ready_.front();
    ready_.pop_front();
    resume(fiber);
  }
}

/// \returns false if nothing is left to happen
bool VirtualTime::advance() {
  EventSource* next = nullptr;
  int64_t next_ns = INT64_MAX;
  for (EventSource* source : sources_) {
    if (source->next_ns() >= next_ns) continue;
    next = source;
    next_ns = source->next_ns();
  }
  if (!timers_.empty() && timers_.begin()->first <= next_ns) {
    auto [deadline_ns, timer] = *timers_.begin();
    now_ns_ = std::max(now_ns_, deadline_ns);
    timer_of_.erase(timer.id);
    timers_.erase(timers_.begin());
    timer.fiber->post(timer.task);
    return true;
  }
  if (next == nullptr) return false;
  now_ns_ = std::max(now_ns_, next_ns);
  next->happen();
  return true;
}

void VirtualTime::run() {
  do {
    run_ready();
  } while (advance());
}

}  // namespace atl::goodput
