/// A small scheduler: one request at a time on the first instance, on the thread that brings it, or held
/// until a test says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/request/scheduler.h"

namespace atl::test {

/// Requests are served in the order they came. Its schedulers have what SchedulerProvider::kOperatedMinor adds: publish it with
/// that minor where they are to be asked. [any]
class FakeSchedulerProvider final : public SchedulerProvider {
 public:
  explicit FakeSchedulerProvider(std::string kind = "default") : kind_(std::move(kind)) {}
  virtual ~FakeSchedulerProvider() = default;

  std::string_view kind() const noexcept override { return kind_; }
  Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context) noexcept override {
    ++creates_;
    if (fail_creates > 0) {
      --fail_creates;
      return internal_error("the fake scheduler provider was told to fail");
    }
    std::unique_ptr<Scheduler> scheduler(new FakeScheduler(*this, context));
    return scheduler;
  }

  /// Runs what the schedulers hold, now on this thread. \returns false if nothing was held.
  bool run_held() {
    std::vector<FakeScheduler*> schedulers;
    {
      std::lock_guard lock(mutex_);
      schedulers = schedulers_;
    }
    bool any = false;
    for (FakeScheduler* scheduler : schedulers) any = scheduler->drain() || any;
    return any;
  }
  size_t live() const {
    std::lock_guard lock(mutex_);
    return schedulers_.size();
  }
  uint64_t creates() const noexcept { return creates_; }

  std::atomic<bool> hold{false};          ///< requests wait for run_held()
  std::atomic<uint32_t> fail_creates{0};  ///< the next so many creates fail
  std::atomic<bool> can_drain{true};
  std::atomic<QueueWait> waits_for{QueueWait::kInstance};  ///< what the schedulers say

 private:
  class FakeScheduler final : public Scheduler {
   public:
    FakeScheduler(FakeSchedulerProvider& provider, const SchedulerContext& context)
        : provider_(provider), instance_(context.instances.front().backend), reporter_(context.reporter) {
      std::lock_guard lock(provider_.mutex_);
      provider_.schedulers_.push_back(this);
    }
    ~FakeScheduler() override {
      std::lock_guard lock(provider_.mutex_);
      std::erase(provider_.schedulers_, this);
    }
    Status enqueue(Request& request) noexcept override {
      {
        std::lock_guard lock(mutex_);
        if (stopped_) {
          return unavailable(
              "Server is stopping, scheduler for model has stopped accepting new inference requests");
        }
        ++in_flight_;
        queue_.push_back(&request);
      }
      if (!provider_.hold) drain();
      return {};
    }
    void stop_accepting() noexcept override {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    uint64_t in_flight() const noexcept override { return in_flight_; }
    QueueDescription describe_queue() noexcept override {
      QueueDescription found;
      std::lock_guard lock(mutex_);
      found.requests = queue_.size();
      found.is_draining = draining_;
      if (!queue_.empty()) found.waits_for = provider_.waits_for;
      return found;
    }
    uint64_t cancel_waiting(uint64_t, uint64_t most) noexcept override {
      uint64_t taken = 0;
      for (; taken < most; ++taken) {
        Request* const request = next();
        if (request == nullptr) break;
        if (reporter_ != nullptr) reporter_->report_failure(*request, FailureReason::kCanceled);
        fail_request(*request, make_status(Code::kCancelled, "cancelled"));
        std::lock_guard lock(mutex_);
        busy_ = false;
        --in_flight_;
      }
      return taken;
    }
    bool set_draining(bool draining) noexcept override {
      std::lock_guard lock(mutex_);
      draining_ = draining;
      return provider_.can_drain;
    }

    /// Serves the queue, unless somebody does already: then that one serves it to its end.
    bool drain() {
      bool any = false;
      while (Request* request = next()) {
        run(*request);
        any = true;
        std::lock_guard lock(mutex_);
        busy_ = false;
        --in_flight_;
      }
      return any;
    }

   private:
    Request* next() {
      std::lock_guard lock(mutex_);
      if (busy_ || queue_.empty()) return nullptr;
      busy_ = true;
      Request* request = queue_.front();
      queue_.pop_front();
      return request;
    }
    void run(Request& request) {
      if (request.cancelled()) {
        if (reporter_ != nullptr) reporter_->report_failure(request, FailureReason::kCanceled);
        fail_request(request, Status(Code::kCancelled, "the request was cancelled"));
        return;
      }
      Request* one[] = {&request};
      if (Status status = instance_->execute({one, request.batch_weight()}); !status.ok()) {
        if (reporter_ != nullptr) reporter_->report_failure(request, FailureReason::kBackend);
        fail_request(request, std::move(status));
      }
    }

    FakeSchedulerProvider& provider_;
    BackendInstance* instance_;
    InferenceReporter* reporter_;
    std::mutex mutex_;
    std::deque<Request*> queue_;
    bool busy_ = false;
    bool stopped_ = false;
    bool draining_ = false;
    std::atomic<uint64_t> in_flight_{0};
  };

  std::string kind_;
  mutable std::mutex mutex_;
  std::vector<FakeScheduler*> schedulers_;
  std::atomic<uint64_t> creates_{0};
};

}  // namespace atl::test
