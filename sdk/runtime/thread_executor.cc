#include "atoll/runtime/thread_executor.h"

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>

#include "atoll/runtime/task_queue.h"
#include "atoll/runtime/thread_maker.h"
#include "atoll/runtime/thread_placement.h"

namespace atl::runtime {
namespace {

class ThreadExecutor final : public SerialExecutor {
 public:
  ThreadExecutor(const Clock& clock, std::function<void()> on_throw,
                 std::shared_ptr<std::atomic<int64_t>> live)
      : clock_(clock), on_throw_(std::move(on_throw)), live_(std::move(live)) {
    live_->fetch_add(1);
  }
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;
  virtual ~ThreadExecutor() {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
    for (const Task& task : queue_.take_all()) drop_task(task);
    live_->fetch_sub(1);
  }

  Status begin(std::string_view name, const ThreadPlacement& placement) {
    std::promise<Status> placed;
    std::future<Status> outcome = placed.get_future();
    thread_ =
        thread_maker().make([this, name = std::string(name), where = OwnedPlacement(placement), &placed] {
          Status status = place_this_thread(name, where);
          bool ok = status.ok();
          placed.set_value(std::move(status));
          if (ok) run();
        });
    return outcome.get();
  }

  void post(Task task) noexcept override {
    bool wake = false;
    {
      std::lock_guard lock(mutex_);
      queue_.push(task);
      wake = waiting_;
    }
    if (wake) changed_.notify_one();
  }
  TimerId post_at(int64_t deadline_ns, Task task) noexcept override {
    TimerId timer = 0;
    {
      std::lock_guard lock(mutex_);
      timer = queue_.push_at(deadline_ns, task);
    }
    changed_.notify_one();
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
  bool is_current() const noexcept override { return std::this_thread::get_id() == thread_.get_id(); }
  void destroy() noexcept override { delete this; }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      std::optional<Task> task = queue_.take(clock_.now_ns());
      if (task) {
        lock.unlock();
        if (!run_task(*task) && on_throw_) on_throw_();
        lock.lock();
        continue;
      }
      waiting_ = true;
      int64_t deadline_ns = queue_.next_deadline_ns();
      if (deadline_ns == TaskQueue::kNever) {
        changed_.wait(lock);
      } else {
        using std::chrono::steady_clock;
        changed_.wait_until(lock, steady_clock::time_point(std::chrono::nanoseconds(deadline_ns)));
      }
      waiting_ = false;
    }
  }

  const Clock& clock_;
  const std::function<void()> on_throw_;
  const std::shared_ptr<std::atomic<int64_t>> live_;
  std::mutex mutex_;  // guards queue_, waiting_, ending_
  std::condition_variable changed_;
  TaskQueue queue_;
  bool waiting_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace

Result<SerialExecutorPtr> ThreadExecutorFactory::create(std::string_view name,
                                                        const ThreadPlacement& placement) noexcept {
  try {
    auto executor = std::make_unique<ThreadExecutor>(clock_, on_throw_, live_);
    if (Status status = executor->begin(name, placement); !status.ok()) {
      return std::move(status).note(cat("executor '", name, "'"));
    }
    return SerialExecutorPtr(executor.release());
  } catch (const std::system_error& error) {
    return make_status(Code::kResourceExhausted, "executor '", name, "': no thread: ", error.what());
  }
}

}  // namespace atl::runtime
