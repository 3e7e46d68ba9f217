/// The scheduler suite against a small scheduler, right and broken on purpose: what is broken must be
/// noticed.
#include <algorithm>
#include <deque>
#include <mutex>

#include "atoll/testing/conformance/scheduler.h"

namespace atl::test {
namespace {

enum class SchedulerFault {
  kNone,
  kForgetsAdmission,
  kMixesShapes,
  kAnswersTheCancelledLate,
  kAnswersWhoCancels,
  kIgnoresDeadlines,
  kTimesOutWithoutAPolicy,
};

/// Batches of requests of one shape, formed when an instance is idle.
class SmallScheduler final : public Scheduler, private CancelListener {
 public:
  SmallScheduler(const SchedulerContext& context, SchedulerFault fault)
      : context_(context), fault_(fault), slots_(context.instances.size()) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].instance = context.instances[i].backend;
      slots_[i].thread = context.executors->create(context.instances[i].spec->name, {}).value();
    }
    answers_ = context.executors->create("answers", {}).value();
  }
  ~SmallScheduler() override {
    answers_.reset();
    slots_.clear();
  }
  Status enqueue(Request& request) noexcept override {
    bool cancelled = false;
    {
      std::lock_guard lock(mutex_);
      if (!accepting_) {
        return unavailable(
            "Server is stopping, scheduler for model has stopped accepting new inference requests");
      }
      ++in_flight_;
      cancelled = !request.cancellation.listen(this, &request);
      if (!cancelled) queue_.push_back(&request);
    }
    if (cancelled) refuse(request, FailureReason::kCanceled, Status(Code::kCancelled, {}));
    wake_idle();
    return {};
  }
  void stop_accepting() noexcept override {
    std::lock_guard lock(mutex_);
    accepting_ = false;
  }
  uint64_t in_flight() const noexcept override {
    std::lock_guard lock(mutex_);
    return in_flight_;
  }

 private:
  struct Slot {
    BackendInstance* instance = nullptr;
    SerialExecutorPtr thread;
    bool busy = false;
  };
  void wake_idle() {
    std::lock_guard lock(mutex_);
    for (Slot& slot : slots_) {
      if (slot.busy || queue_.empty()) continue;
      slot.busy = true;
      slot.thread->post(make_task([this, &slot] { run(slot); }));
    }
  }
  void run(Slot& slot) {
    for (std::vector<Request*> batch = take(slot); !batch.empty(); batch = take(slot)) {
      for (Request* request : batch) request->cancellation.stop_listening();
      std::erase_if(batch, [&](Request* request) { return !is_wanted(*request); });
      if (!batch.empty()) execute(slot, batch);
    }
  }
  std::vector<Request*> take(Slot& slot) {
    std::lock_guard lock(mutex_);
    std::vector<Request*> batch;
    const size_t most = std::max(1u, context_.max_batch_size);
    while (!queue_.empty() && batch.size() < most) {
      if (!batch.empty() && fault_ != SchedulerFault::kMixesShapes && !is_alike(*batch[0], *queue_.front()))
        break;
      batch.push_back(queue_.front());
      queue_.pop_front();
    }
    if (batch.empty()) slot.busy = false;
    return batch;
  }
  static bool is_alike(const Request& a, const Request& b) {
    return std::ranges::equal((*a.inputs.begin()).shape, (*b.inputs.begin()).shape);
  }
  bool is_wanted(Request& request) {
    const int64_t now_ns = context_.clock->now_ns();
    const int64_t deadline_ns = request.times.deadline_ns;
    const bool late = deadline_ns != 0 && now_ns > deadline_ns && fault_ != SchedulerFault::kIgnoresDeadlines;
    const bool timed_out =
        fault_ == SchedulerFault::kTimesOutWithoutAPolicy && request.timeout_us != 0 &&
        now_ns > request.times.queue_start_ns + static_cast<int64_t>(request.timeout_us) * kNsPerUs;
    if (!request.cancelled() && !late && !timed_out) return true;
    refuse(request, timed_out ? FailureReason::kRejected : FailureReason::kCanceled,
           timed_out ? unavailable("Request timeout expired") : Status(Code::kCancelled, {}));
    return false;
  }
  void execute(Slot& slot, const std::vector<Request*>& batch) {
    const uint64_t count = batch.size();
    Status status = slot.instance->execute({batch, static_cast<uint32_t>(count)});
    for (Request* request : batch) {
      if (!status.ok()) refuse(*request, FailureReason::kBackend, status.clone());
    }
    if (!status.ok()) return;
    std::lock_guard lock(mutex_);
    in_flight_ -= count;
  }
  void on_cancel(void* context) noexcept override {
    auto& request = *static_cast<Request*>(context);
    {
      std::lock_guard lock(mutex_);
      auto found = std::find(queue_.begin(), queue_.end(), &request);
      if (found == queue_.end() || fault_ == SchedulerFault::kAnswersTheCancelledLate) return;
      queue_.erase(found);
    }
    auto answer = [this, &request] {
      if (fault_ != SchedulerFault::kAnswersWhoCancels) request.cancellation.stop_listening();
      refuse(request, FailureReason::kCanceled, Status(Code::kCancelled, {}));
    };
    if (fault_ == SchedulerFault::kAnswersWhoCancels) return answer();
    answers_->post(make_task(answer));
  }
  void refuse(Request& request, FailureReason reason, Status status) {
    context_.reporter->report_failure(request, reason);
    fail_request(request, std::move(status));
    std::lock_guard lock(mutex_);
    --in_flight_;
  }

  const SchedulerContext context_;
  const SchedulerFault fault_;
  mutable std::mutex mutex_;
  std::deque<Request*> queue_;
  uint64_t in_flight_ = 0;
  bool accepting_ = true;
  std::vector<Slot> slots_;
  SerialExecutorPtr answers_;
};

class SmallProvider final : public SchedulerProvider {
 public:
  explicit SmallProvider(SchedulerFault fault) : fault_(fault) {}
  virtual ~SmallProvider() = default;
  std::string_view kind() const noexcept override { return "small"; }
  Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context) noexcept override {
    if (!context.admissions.empty() && fault_ != SchedulerFault::kForgetsAdmission) {
      return unimplemented("this scheduler does not ask for admission");
    }
    return std::make_unique<SmallScheduler>(context, fault_);
  }

 private:
  const SchedulerFault fault_;
};

SchedulerProviderUnderTest small(std::string name, SchedulerFault fault,
                                 const std::vector<std::string>& fails = {}) {
  SchedulerProviderUnderTest provider;
  provider.name = std::move(name);
  provider.make = [fault](FakeHost&) { return std::make_shared<SmallProvider>(fault); };
  provider.max_batch_size = 4;
  provider.asks_for_admission = false;
  for (const std::string& check : fails) provider.exceptions.push_back(expected_failure(check, "on purpose"));
  return provider;
}

SchedulerProviderUnderTest says_it_asks() {
  SchedulerProviderUnderTest provider =
      small("says_it_asks", SchedulerFault::kForgetsAdmission, {"ExecutionsAreAdmittedOrTheModelIsRefused"});
  provider.asks_for_admission = true;
  return provider;
}

SchedulerProviderUnderTest says_it_looks_for_room() {
  SchedulerProviderUnderTest provider =
      small("says_it_looks_for_room", SchedulerFault::kNone, {"NoInstanceGetsMoreThanItHasRoomFor"});
  provider.keeps_to_room = true;
  return provider;
}

INSTANTIATE_TEST_SUITE_P(
    Small, SchedulerConformance,
    ::testing::Values(small("right", SchedulerFault::kNone), says_it_asks(), says_it_looks_for_room(),
                      small("forgets_admission", SchedulerFault::kForgetsAdmission,
                            {"ExecutionsAreAdmittedOrTheModelIsRefused"}),
                      small("mixes_shapes", SchedulerFault::kMixesShapes,
                            {"RequestsOfDifferentShapesShareNoBatch"}),
                      small("answers_the_cancelled_late", SchedulerFault::kAnswersTheCancelledLate,
                            {"ACancelledRequestIsAnsweredWhileTheInstanceIsBusy"}),
                      small("answers_who_cancels", SchedulerFault::kAnswersWhoCancels,
                            {"ACancelledRequestIsAnsweredWhileTheInstanceIsBusy"}),
                      small("ignores_deadlines", SchedulerFault::kIgnoresDeadlines,
                            {"ARequestPastItsDeadlineIsNotExecuted"}),
                      small("times_out_without_a_policy", SchedulerFault::kTimesOutWithoutAPolicy,
                            {"WithoutAQueuePolicyATimeoutMeansNothing"})),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace atl::test
