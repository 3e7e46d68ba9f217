#include "backends/triton/load_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include "atoll/lib/duration_text.h"
#include "atoll/runtime/fault_report.h"

namespace atl::triton {
namespace {

/// Of the process.
constinit std::atomic<uint32_t> calls_left_inside{0};

/// What runs at exit includes the destructors of the libraries whose threads were left behind, which may wait for these.
void skip_destructors(int status, void*) {
  if (calls_left_inside == 0) return;
  (void)std::fflush(nullptr);
  ::_exit(status);
}

bool is_inside_a_program() noexcept {
  void* server = ::dlopen("libatoll_server.so", RTLD_NOW | RTLD_NOLOAD);
  if (server != nullptr) ::dlclose(server);
  return server != nullptr;
}

/// A program's own handlers are not passed over.
void prepare_for_exit() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    if (!is_inside_a_program()) ::on_exit(&skip_destructors, nullptr);
  });
}

/// A thread that is left behind returns into it.
void keep_own_code_mapped() noexcept {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&keep_own_code_mapped), &info) == 0) return;
  // The reference that this counts is not given back. In a program's own file there is nothing to keep.
  (void)::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace

/// One call, shared by its thread, whoever waits for it and the timer.
class LoadCalls::Call {
 public:
  Call(Callee callee, std::function<Status()> call) : callee_(std::move(callee)), call_(std::move(call)) {}

  void run() noexcept {
    runtime::SignalStack signal_stack;
    Status status = call_();
    call_ = nullptr;  // here what it owns ends, unless somebody still waits for it
    std::lock_guard lock(mutex_);
    if (state_ == State::kLeft) {
      --callee_.left->inside;
      --calls_left_inside;
      callee_.around->log.info("backend '", callee_.backend, "': ", callee_.function,
                               ", which was left behind, has returned");
      return;
    }
    state_ = State::kReturned;
    status_ = std::move(status);
    changed_.notify_all();
  }

  /// Nobody waits for it from here on, unless it has returned.
  void leave() noexcept {
    std::lock_guard lock(mutex_);
    if (state_ != State::kRuns) return;
    state_ = State::kLeft;
    callee_.left->any = true;
    ++callee_.left->inside;
    ++calls_left_inside;
    changed_.notify_all();
  }

  /// \returns false: it was left behind.
  bool wait(Status* status) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return state_ != State::kRuns; });
    if (state_ == State::kReturned) *status = std::move(status_);
    return state_ == State::kReturned;
  }

  const Callee& callee() const noexcept { return callee_; }

 private:
  enum class State { kRuns, kReturned, kLeft };

  const Callee callee_;
  std::function<Status()> call_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kRuns;
  Status status_;
};

Status LoadCalls::open() {
  if (timeout_ns_ == 0) return {};
  Result<SerialExecutorPtr> timers = executors_.create("triton-load", {});
  if (!timers.ok()) return std::move(timers).status();
  timers_ = std::move(timers).value();
  return {};
}

void LoadCalls::hurry() noexcept {
  if (timers_ == nullptr) return;
  const int64_t end_ns = clock_.now_ns() + kEndNs;
  end_ns_ = end_ns;
  timers_->post_at(end_ns, make_task([this] {
                     std::vector<std::shared_ptr<Call>> calls;
                     {
                       std::lock_guard lock(mutex_);
                       calls = waited_for_;
                     }
                     for (const auto& call : calls) call->leave();
                   }));
}

void LoadCalls::close() noexcept { timers_.reset(); }

int64_t LoadCalls::deadline_ns() { return std::min(clock_.now_ns() + timeout_ns_, end_ns_.load()); }

Status LoadCalls::run(Callee callee, std::function<Status()> work) {
  if (timeout_ns_ == 0) return work();
  ATOLL_RETURN_IF_ERROR(refuse(callee));
  auto call = std::make_shared<Call>(std::move(callee), std::move(work));
  {
    std::lock_guard lock(mutex_);
    waited_for_.push_back(call);
  }
  const TimerId timer = timers_->post_at(deadline_ns(), make_task([call] { call->leave(); }));
  Status status;
  bool has_returned = true;
  try {
    std::thread thread([call] {
      // Whoever looks which threads a server has sees those that were left behind.
      ::pthread_setname_np(::pthread_self(), "triton-call");
      call->run();
    });
    has_returned = call->wait(&status);
    // Its last steps are this plugin's code.
    has_returned ? thread.join() : thread.detach();
  } catch (const std::system_error& error) {
    status =
        make_status(Code::kResourceExhausted, "no thread for ", call->callee().function, ": ", error.what());
  }
  if (has_returned) timers_->cancel(timer);
  {
    std::lock_guard lock(mutex_);
    std::erase(waited_for_, call);
  }
  return has_returned ? std::move(status) : left_behind(call->callee());
}

Status LoadCalls::refuse(const Callee& callee) const {
  const uint32_t left = callee.left->inside;
  if (left < kLeftMost) return {};
  return unavailable("backend '", callee.backend, "' has not returned from ", left,
                     " calls that were left behind; ", callee.function, " is not called");
}

Status LoadCalls::left_behind(const Callee& callee) {
  keep_own_code_mapped();
  prepare_for_exit();
  const bool server_ends = end_ns_ != INT64_MAX;
  Status status =
      unavailable("backend '", callee.backend, "' has not returned from ", callee.function,
                  server_ends ? cat(", and the server ends") : cat(" within ", duration_text(timeout_ns_)));
  callee.around->log.warning(status.text(), ": its thread is left behind, and its file stays mapped");
  return status;
}

}  // namespace atl::triton
