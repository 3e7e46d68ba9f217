/// Many executors on one thread, in virtual time and in an order that a seed decides: the code that serves,
/// simulated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/testing/fake_clock.h"
#include "atoll/testing/random.h"

namespace atl::test {

/// Executors and the worker pool of a simulation. Nothing runs by itself: step() and the run functions do,
/// on the calling thread, and inside a task, too: executors that are inside one do not begin another, so what
/// others do meanwhile can be looked at. Which of the executors with work runs next is drawn from the seed;
/// tasks of one executor keep their order. When none has work, the clock jumps to the next timer. A task
/// costs well under a microsecond, so millions are fine. Not thread safe: everything happens on one thread.
class DeterministicExecutors final : public ExecutorFactory, public WorkerPool {
 public:
  DeterministicExecutors(FakeClock& clock, uint64_t seed)
      : clock_(clock), random_(seed), workers_(*this, "workers") {}
  DeterministicExecutors(const DeterministicExecutors&) = delete;
  DeterministicExecutors& operator=(const DeterministicExecutors&) = delete;
  virtual ~DeterministicExecutors() {
    if (live_ != 0) die("an executor was not destroyed before the DeterministicExecutors that made it");
    workers_.drop_all();
  }

  /// From here on an executor that is inside a task begins others, too: each stands for as many threads as
  /// the simulation needs, such as those of all clients.
  void let_tasks_nest() noexcept { tasks_nest_ = true; }

  Result<SerialExecutorPtr> create(std::string_view name, const ThreadPlacement&) noexcept override {
    if (refuse_creates_ > 0) {
      --refuse_creates_;
      return Status(Code::kResourceExhausted, cat("no thread for '", name, "': refused by the test"));
    }
    ++live_;
    return SerialExecutorPtr(new Executor(*this, name));
  }
  void run(Task task) noexcept override { workers_.post(task); }

  /// Runs one task, moving the clock to the next timer if nothing is ready. False: there was nothing at all.
  bool step() {
    if (run_one()) return true;
    if (!forget_stale_timers()) return false;
    clock_.advance_to(timers_.front().deadline_ns);
    return run_one();
  }
  /// Runs until no task and no timer is left, or max_tasks have run (a timer that posts itself again never
  /// ends). \returns the number of tasks run.
  uint64_t run_until_idle(uint64_t max_tasks = UINT64_MAX) {
    uint64_t count = 0;
    while (count < max_tasks && step()) ++count;
    return count;
  }
  /// Runs what is ready without moving the clock. \returns the number of tasks run.
  uint64_t run_ready(uint64_t max_tasks = UINT64_MAX) {
    uint64_t count = 0;
    while (count < max_tasks && run_one()) ++count;
    return count;
  }
  /// Runs everything due up to the time, and leaves the clock there. \returns the number of tasks run.
  uint64_t run_until(int64_t time_ns) {
    uint64_t count = 0;
    while (true) {
      count += run_ready();
      if (!forget_stale_timers() || timers_.front().deadline_ns > time_ns) break;
      clock_.advance_to(timers_.front().deadline_ns);
    }
    clock_.advance_to(time_ns);
    return count + run_ready();
  }
  uint64_t run_for(int64_t duration_ns) { return run_until(clock_.now_ns() + duration_ns); }

  /// True if neither a task nor a timer waits.
  bool idle() { return ready_.empty() && !forget_stale_timers(); }
  uint64_t executors() const noexcept { return live_; }
  uint64_t pending_timers() const noexcept { return timers_.size() - stale_timers_; }
  /// Deadline of the first timer; INT64_MAX if there is none.
  int64_t next_timer_ns() { return forget_stale_timers() ? timers_.front().deadline_ns : INT64_MAX; }
  FakeClock& clock() noexcept { return clock_; }
  Random& random() noexcept { return random_; }
  /// The next `count` creates fail with RESOURCE_EXHAUSTED.
  void refuse_creates(uint32_t count) noexcept { refuse_creates_ = count; }

 private:
  class Executor final : public SerialExecutor {
   public:
    Executor(DeterministicExecutors& owner, std::string_view name) : owner_(owner), name_(name) {}
    virtual ~Executor() = default;
    void post(Task task) noexcept override {
      if (tasks_.empty()) owner_.make_ready(*this);
      tasks_.push_back(task);
    }
    TimerId post_at(int64_t deadline_ns, Task task) noexcept override {
      return owner_.add_timer(*this, deadline_ns, task);
    }
    bool cancel(TimerId timer) noexcept override { return owner_.cancel_timer(*this, timer); }
    bool is_current() const noexcept override { return running_; }
    /// Of the worker pool several tasks may run at a time.
    bool may_begin() const noexcept { return !running_ || owner_.tasks_nest_ || this == &owner_.workers_; }
    void destroy() noexcept override {
      if (running_) die(cat("executor '", name_, "' is destroyed by its own task"));
      owner_.drop_timers(*this);
      drop_all();
      --owner_.live_;
      delete this;
    }
    void drop_all() noexcept {
      while (!tasks_.empty()) {
        Task task = tasks_.front();
        tasks_.pop_front();
        if (tasks_.empty()) owner_.make_unready(*this);
        if (task.drop != nullptr) task.drop(task.argument);
      }
    }
    void run_front() {
      Task task = tasks_.front();
      tasks_.pop_front();
      if (tasks_.empty()) owner_.make_unready(*this);
      bool outer = std::exchange(running_, true);
      task.run(task.argument);
      running_ = outer;
    }
    size_t ready_index = 0;

   private:
    DeterministicExecutors& owner_;
    std::string name_;
    std::deque<Task> tasks_;
    bool running_ = false;
  };
  struct Slot {
    Executor* executor = nullptr;  ///< null: free
    uint32_t generation = 1;
    Task task;
  };
  struct Timer {
    int64_t deadline_ns;
    uint64_t order;
    TimerId id;
    bool operator<(const Timer& other) const noexcept {  // the heap keeps the greatest first
      return deadline_ns != other.deadline_ns ? deadline_ns > other.deadline_ns : order > other.order;
    }
  };

  [[noreturn]] static void die(const std::string& what) {
    std::fprintf(stderr, "DeterministicExecutors: %s\n", what.c_str());
    std::abort();
  }
  void make_ready(Executor& executor) {
    executor.ready_index = ready_.size();
    ready_.push_back(&executor);
  }
  void make_unready(Executor& executor) {
    Executor* last = ready_.back();
    ready_[executor.ready_index] = last;
    last->ready_index = executor.ready_index;
    ready_.pop_back();
  }
  bool run_one() {
    while (forget_stale_timers() && timers_.front().deadline_ns <= clock_.now_ns()) fire_first_timer();
    if (ready_.empty()) return false;
    const size_t first = ready_.size() == 1 ? 0 : random_.below(ready_.size());
    for (size_t i = 0; i < ready_.size(); ++i) {
      Executor* executor = ready_[(first + i) % ready_.size()];
      if (!executor->may_begin()) continue;
      executor->run_front();
      return true;
    }
    return false;
  }
  Slot* slot_of(TimerId id) noexcept {
    size_t index = static_cast<uint32_t>(id);
    if (index >= slots_.size()) return nullptr;
    Slot& slot = slots_[index];
    return slot.executor != nullptr && slot.generation == id >> 32 ? &slot : nullptr;
  }
  Task free_slot(Slot& slot) {
    slot.executor = nullptr;
    ++slot.generation;
    free_slots_.push_back(static_cast<uint32_t>(&slot - slots_.data()));
    return slot.task;
  }
  TimerId add_timer(Executor& executor, int64_t deadline_ns, Task task) {
    if (free_slots_.empty()) {
      free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    uint32_t index = free_slots_.back();
    free_slots_.pop_back();
    slots_[index].executor = &executor;
    slots_[index].task = task;
    TimerId id = (static_cast<TimerId>(slots_[index].generation) << 32) | index;
    timers_.push_back({deadline_ns, next_order_++, id});
    std::push_heap(timers_.begin(), timers_.end());
    return id;
  }
  bool cancel_timer(Executor& executor, TimerId id) {
    Slot* slot = slot_of(id);
    if (slot == nullptr || slot->executor != &executor) return false;
    Task task = free_slot(*slot);
    ++stale_timers_;
    if (stale_timers_ > 64 && stale_timers_ > timers_.size() / 2) rebuild_timers();
    if (task.drop != nullptr) task.drop(task.argument);
    return true;
  }
  void drop_timers(Executor& executor) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].executor != &executor) continue;
      Task task = free_slot(slots_[i]);
      ++stale_timers_;
      if (task.drop != nullptr) task.drop(task.argument);
    }
  }
  void rebuild_timers() {
    std::erase_if(timers_, [&](const Timer& timer) { return slot_of(timer.id) == nullptr; });
    std::make_heap(timers_.begin(), timers_.end());
    stale_timers_ = 0;
  }
  /// \returns true if a timer is left, and it is the first.
  bool forget_stale_timers() {
    while (!timers_.empty() && slot_of(timers_.front().id) == nullptr) {
      std::pop_heap(timers_.begin(), timers_.end());
      timers_.pop_back();
      --stale_timers_;
    }
    return !timers_.empty();
  }
  void fire_first_timer() {
    Slot& slot = *slot_of(timers_.front().id);
    std::pop_heap(timers_.begin(), timers_.end());
    timers_.pop_back();
    Executor& executor = *slot.executor;
    executor.post(free_slot(slot));
  }

  FakeClock& clock_;
  Random random_;
  std::vector<Executor*> ready_;  ///< those with tasks
  std::vector<Timer> timers_;     ///< a heap; cancelled ones stay until they surface
  uint64_t stale_timers_ = 0;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  uint64_t next_order_ = 0;
  uint64_t live_ = 0;
  uint32_t refuse_creates_ = 0;
  bool tasks_nest_ = false;
  Executor workers_;
};

}  // namespace atl::test
