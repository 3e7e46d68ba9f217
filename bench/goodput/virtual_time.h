/// Threads and time of a simulation: the code that serves runs on fibers of one thread, and the clock jumps from
/// event to event.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"

namespace atl::goodput {

/// Something beside the executors that happens at times of its own.
class EventSource {
 public:
  /// INT64_MAX: never.
  virtual int64_t next_ns() const noexcept = 0;
  /// The clock is at next_ns().
  virtual void happen() = 0;

 protected:
  ~EventSource() = default;
};

/// Not thread safe: everything happens on one thread. A task may block by block(), which lets the others go on.
class VirtualTime final : public Clock, public ExecutorFactory {
 public:
  class Fiber;

  VirtualTime() = default;
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;
  virtual ~VirtualTime() = default;

  int64_t now_ns() const noexcept override { return now_ns_; }
  int64_t wall_ns() const noexcept override { return now_ns_; }
  Result<SerialExecutorPtr> create(std::string_view name, const ThreadPlacement&) noexcept override;

  void add(EventSource& source) { sources_.push_back(&source); }
  /// Until nothing is left to happen.
  void run();

  /// Of a task: the others go on until unblock().
  void block() noexcept;
  /// The executor whose task runs; null: none.
  Fiber* current() const noexcept { return current_; }
  void unblock(Fiber& fiber) { ready_.push_back(&fiber); }

 private:
  struct Timer {
    uint64_t id;
    Fiber* fiber;
    Task task;
  };
  using Timers = std::multimap<int64_t, Timer>;

  void resume(Fiber& fiber) noexcept;
  void run_ready();
  bool advance();

  int64_t now_ns_ = kNsPerSecond;  // 0 is "not set" in structs that hold times
  std::deque<Fiber*> ready_;
  std::vector<EventSource*> sources_;
  Timers timers_;
  std::unordered_map<uint64_t, Timers::iterator> timer_of_;
  uint64_t next_timer_ = 1;
  Fiber* current_ = nullptr;
  ucontext_t main_{};
};

}  // namespace atl::goodput
