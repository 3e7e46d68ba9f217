#include "atoll/runtime/call_watch.h"

#include <pthread.h>

#include <chrono>
#include <system_error>
#include <utility>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/runtime/memory_reserve.h"
#include "atoll/runtime/thread_maker.h"

namespace atl::runtime {
namespace {

constexpr int64_t kLinesAfterNs[] = {1 * kNsPerSecond, 10 * kNsPerSecond};
constexpr std::chrono::milliseconds kLookEvery{100};
constexpr std::chrono::seconds kRestockEvery{1};
/// For calls that were begun when the time was over already: what overran is told and stopped then.
constexpr int64_t kLateNs = 1 * kNsPerSecond;

}  // namespace

CallWatch::~CallWatch() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void CallWatch::start() noexcept {
  try {
    thread_ = thread_maker().make([this] { run(); });
  } catch (const std::exception&) {
    // The server does without.
  }
}

void CallWatch::ends(EndsBy by, End end) {
  std::lock_guard lock(mutex_);
  ends_by_ = std::move(by);
  end_ = std::move(end);
}

std::string CallWatch::still(const Call& call, int64_t now_ns) const {
  return cat("still in ", call.what_, " after ", (now_ns - call.begun_ns_) / kNsPerSecond, " s");
}

void CallWatch::look() {
  std::vector<std::string> lines;
  std::string held;
  End end;
  {
    std::lock_guard lock(mutex_);
    const int64_t now_ns = clock_.now_ns();
    const int64_t ends_ns = calls_.empty() || !ends_by_ ? 0 : ends_by_();
    for (Call* call : calls_) {
      const int64_t taken_ns = now_ns - call->begun_ns_;
      while (call->lines_ < std::ssize(kLinesAfterNs) && taken_ns >= kLinesAfterNs[call->lines_]) {
        if (++call->lines_ == std::ssize(kLinesAfterNs) || taken_ns < kLinesAfterNs[call->lines_]) {
          lines.push_back(still(*call, now_ns));
        }
      }
      if (ends_ns == 0) continue;
      held += cat(held.empty() ? "" : "; ", still(*call, now_ns));
      if (now_ns >= ends_ns + (call->begun_ns_ < ends_ns ? 0 : kLateNs)) end = end_;
    }
  }
  for (const std::string& line : lines) say_(line);
  if (end) end(held);
}

void CallWatch::run() noexcept {
  ::pthread_setname_np(::pthread_self(), "watch");
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kRestockEvery, [this] { return stopping_ || !calls_.empty(); });
      restock_memory_reserve();
      if (stopping_) return;
      if (calls_.empty()) continue;
      if (changed_.wait_for(lock, kLookEvery, [this] { return stopping_; })) return;
    }
    try {
      look();
    } catch (const std::exception&) {
      // Without memory for a line: the next look tells.
    }
  }
}

CallWatch::Call::Call(CallWatch* watch, std::string what) : watch_(watch), what_(std::move(what)) {
  if (watch_ == nullptr) return;
  begun_ns_ = watch_->clock_.now_ns();
  bool first = false;
  {
    std::lock_guard lock(watch_->mutex_);
    first = watch_->calls_.empty();
    place_ = watch_->calls_.insert(watch_->calls_.end(), this);
  }
  if (first) watch_->changed_.notify_one();
}

CallWatch::Call::~Call() {
  if (watch_ == nullptr) return;
  std::lock_guard lock(watch_->mutex_);
  watch_->calls_.erase(place_);
}

}  // namespace atl::runtime
