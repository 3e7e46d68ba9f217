#include "launchers/kubernetes/cluster_login.h"

#include <utility>

#include "atoll/core/stop_executor.h"

namespace atl::launchers {
namespace {

constexpr int64_t kFileIntervalNs = 60 * kNsPerSecond;
/// A program is not asked again before, whatever the cluster or the clocks say.
constexpr int64_t kProgramIntervalNs = 5 * kNsPerSecond;
/// What expires meanwhile may be refused.
constexpr int64_t kWayNs = 2 * kNsPerSecond;

}  // namespace

Status ClusterLogin::start(ExecutorFactory& executors, SerialExecutor& executor) {
  executor_ = &executor;
  credential_ = access_.credential;
  if (access_.exec.words.empty()) return {};
  Result<SerialExecutorPtr> thread = executors.create("cluster login", {});
  if (!thread.ok()) return std::move(thread).status();
  thread_ = std::move(thread).value();
  return {};
}

void ClusterLogin::stop() noexcept {
  is_stopped_.store(true, std::memory_order_release);
  stop_executor(thread_);
}

void ClusterLogin::read_token(bool now) {
  if (access_.token_file.empty()) return;
  if (!now && tried_ns_ != 0 && clock_.now_ns() - tried_ns_ < kFileIntervalNs) return;
  tried_ns_ = clock_.now_ns();
  const Result<std::string> text = read_small_file(access_.token_file);
  Result<std::string> token = text.ok() ? checked_token(text.value()) : text.status().clone();
  const bool has_failed = std::exchange(failure_, token.status().clone()).ok();
  if (!token.ok() && has_failed)
    log_.warning(access_.token_file, ": ", failure_.text(), "; the token before is used on");
  if (token.ok()) credential_.token = std::move(token).value();
}

bool ClusterLogin::is_usable() const {
  if (number_ == 0) return false;
  // Clocks may differ, so what has just come is tried even if it seems to have expired.
  if (failure_.ok() && clock_.now_ns() - tried_ns_ < kProgramIntervalNs) return true;
  return !is_stale_ && (expires_wall_ns_ == 0 || clock_.wall_ns() < expires_wall_ns_ - kWayNs);
}

void ClusterLogin::ask(Then then) {
  if (thread_ == nullptr) {
    read_token(false);
    return then({});
  }
  if (is_usable()) return then({});
  if (!is_running_ && !failure_.ok() && clock_.now_ns() - tried_ns_ < kProgramIntervalNs)
    return then(failure_);
  waiting_.push_back(std::move(then));
  if (!std::exchange(is_running_, true)) run();
}

bool ClusterLogin::refused(uint64_t number) {
  if (thread_ == nullptr) {
    read_token(true);
    return !access_.token_file.empty();
  }
  if (number != number_) return true;  // there is a newer one already
  is_stale_ = true;
  return !is_usable();
}

void ClusterLogin::run() {
  thread_->post(make_task([this] {
    Result<ExecCredential> got = run_exec_command(access_.exec, timeout_ns_, is_stopped_);
    executor_->post(make_task([this, got = std::move(got)]() mutable { has_run(std::move(got)); }));
  }));
}

void ClusterLogin::has_run(Result<ExecCredential> got) {
  if (is_stopped_.load(std::memory_order_acquire)) return;
  is_running_ = false;
  tried_ns_ = clock_.now_ns();
  const bool was_well = std::exchange(failure_, got.status().clone()).ok();
  if (got.ok()) {
    credential_ = std::move(got->credential);
    expires_wall_ns_ = got->expires_wall_ns;
    is_stale_ = false;
    ++number_;
  } else if (was_well) {
    log_.warning("no credentials for the cluster: ", failure_.text());
  }
  for (const Then& then : std::exchange(waiting_, {})) then(failure_);
}

}  // namespace atl::launchers
