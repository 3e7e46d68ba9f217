#include "atoll/runtime/thread_executor.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include "atoll/core/usable_cpus.h"
#include "atoll/runtime/fault_report.h"
#include "atoll/runtime/task_queue.h"
#include "atoll/runtime/thread_maker.h"
#include "atoll/runtime/thread_placement.h"

namespace atl::runtime {
namespace {

/// Its thread ends when there has been nothing to do for a while, and the next task has it made again.
/// Joining the old one and making the new one is the thread maker's: so nobody who posts waits for a thread,
/// and two never run at the same time.
class ThreadExecutor final : public SerialExecutor {
 public:
  ThreadExecutor(const Clock& clock, std::string_view name, const ThreadPlacement& placement,
                 std::chrono::nanoseconds idle, IdleThreads& idle_threads, std::function<void()> on_throw,
                 std::shared_ptr<std::atomic<int64_t>> live)
      : clock_(clock),
        name_(name),
        placement_(placement),
        idle_(idle),
        idle_threads_(idle_threads),
        on_throw_(std::move(on_throw)),
        live_(std::move(live)) {
    live_->fetch_add(1);
  }
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;
  virtual ~ThreadExecutor() {
    {
      std::unique_lock lock(mutex_);
      ending_ = true;
      changed_.notify_all();
      changed_.wait(lock, [this] { return state_ != State::kBetween; });
    }
    if (thread_.joinable()) thread_.join();
    for (const Task& task : queue_.take_all()) drop_task(task);
    live_->fetch_sub(1);
  }

  Status begin() {
    std::promise<Status> placed;
    std::future<Status> outcome = placed.get_future();
    std::unique_lock lock(mutex_);  // the thread cannot end before it is known
    state_ = State::kRuns;
    thread_ = thread_maker().make([this, &placed] {
      Status status = place_this_thread(name_, placement_);
      bool ok = status.ok();
      placed.set_value(std::move(status));
      if (ok) run();
    });
    lock.unlock();
    return outcome.get();
  }

  void post(Task task) noexcept override {
    bool wake = false;
    bool revive = false;
    {
      std::lock_guard lock(mutex_);
      queue_.push(task);
      wake = waiting_;
      revive = leave_to_maker();
    }
    if (wake) changed_.notify_one();
    if (revive) order_thread();
  }
  TimerId post_at(int64_t deadline_ns, Task task) noexcept override {
    TimerId timer = 0;
    bool revive = false;
    {
      std::lock_guard lock(mutex_);
      timer = queue_.push_at(deadline_ns, task);
      revive = leave_to_maker();
    }
    changed_.notify_one();
    if (revive) order_thread();
    return timer;
  }
  bool cancel(TimerId timer) noexcept override {
    std::optional<Task> task;
    {
      std::lock_guard lock(mutex_);
      task = queue_.cancel(timer);
    }
    if (task) drop_task(*task);
    return task.has_value();
  }
  bool is_current() const noexcept override { return std::this_thread::get_id() == running_.load(); }
  void destroy() noexcept override { delete this; }

 private:
  enum class State {
    kRuns,     ///< there is a thread
    kBetween,  ///< the thread maker has the word
    kNone,     ///< no thread, and nothing to do
  };

  /// \returns true if the caller is to order a thread. Under the lock.
  bool leave_to_maker() noexcept {
    if (state_ != State::kNone) return false;
    state_ = State::kBetween;
    return true;
  }
  void order_thread() noexcept {
    thread_maker().run([this] { return replace_thread(); });
  }
  /// On the thread maker's thread, in state kBetween: nobody else touches thread_. \returns false if no
  /// thread is to be had now.
  bool replace_thread() noexcept {
    if (thread_.joinable()) thread_.join();
    std::lock_guard lock(mutex_);
    const bool wanted = !ending_ && !queue_.empty();
    if (wanted) {
      try {
        thread_ = std::thread([this] {
          // It was placed there before; if that cannot be done any more, it is better run elsewhere than
          // not.
          (void)place_this_thread(name_, placement_).ok();
          run();
        });
      } catch (const std::exception&) {
        return false;
      }
    }
    state_ = wanted ? State::kRuns : State::kNone;
    changed_.notify_all();  // under the lock: a destructor that waits may go on as soon as it is free
    return true;
  }

  void run() {
    running_.store(std::this_thread::get_id());
    SignalStack signal_stack;
    std::unique_lock lock(mutex_);
    while (!ending_) {
      std::optional<Task> task = queue_.take(clock_.now_ns());
      if (task) {
        lock.unlock();
        if (!run_task(*task) && on_throw_) on_throw_();
        lock.lock();
        continue;
      }
      if (!wait_for_work(lock)) break;
    }
    running_.store({});
    if (ending_) return;
    state_ = State::kBetween;
    lock.unlock();
    order_thread();
  }
  /// \returns false if there was none for so long that the thread is to end, or too many wait already.
  bool wait_for_work(std::unique_lock<std::mutex>& lock) {
    using std::chrono::steady_clock;
    waiting_ = true;
    int64_t deadline_ns = queue_.next_deadline_ns();
    bool idle = false;
    if (deadline_ns == TaskQueue::kNever) {
      const bool may_wait = idle_threads_.enter();
      idle = !may_wait || changed_.wait_for(lock, idle_) == std::cv_status::timeout;
      if (may_wait) idle_threads_.leave();
    } else {
      changed_.wait_until(lock, steady_clock::time_point(std::chrono::nanoseconds(deadline_ns)));
    }
    waiting_ = false;
    return !idle || ending_ || !queue_.empty();
  }

  const Clock& clock_;
  const std::string name_;
  const OwnedPlacement placement_;
  const std::chrono::nanoseconds idle_;
  IdleThreads& idle_threads_;
  const std::function<void()> on_throw_;
  const std::shared_ptr<std::atomic<int64_t>> live_;
  std::mutex mutex_;  // guards queue_, waiting_, ending_, state_
  std::condition_variable changed_;
  TaskQueue queue_;
  bool waiting_ = false;
  bool ending_ = false;
  State state_ = State::kNone;
  std::thread thread_;  // of whoever the state says
  std::atomic<std::thread::id> running_{};
};

}  // namespace

IdleThreads& IdleThreads::of_process() noexcept {
  constexpr int64_t kLeast = 32;
  // Never destroyed: threads may end after whatever else the process destroys at its end.
  static auto* all = new IdleThreads(std::max(kLeast, 2 * int64_t{usable_cpus()}));
  return *all;
}

Result<SerialExecutorPtr> ThreadExecutorFactory::create(std::string_view name,
                                                        const ThreadPlacement& placement) noexcept {
  try {
    auto executor =
        std::make_unique<ThreadExecutor>(clock_, name, placement, idle_, idle_threads_, on_throw_, live_);
    if (Status status = executor->begin(); !status.ok()) {
      return std::move(status).note(cat("executor '", name, "'"));
    }
    return SerialExecutorPtr(executor.release());
  } catch (const std::bad_alloc&) {
    return make_status(Code::kResourceExhausted, "executor '", name,
                       "': the server has not enough memory for it");
  } catch (const std::system_error& error) {
    return make_status(Code::kResourceExhausted, "executor '", name, "': no thread: ", error.what());
  }
}

}  // namespace atl::runtime
