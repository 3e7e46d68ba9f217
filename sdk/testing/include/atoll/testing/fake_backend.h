/// A backend whose behaviour a test scripts.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/backend/room.h"
#include "atoll/core/clock.h"
#include "atoll/testing/fake_clock.h"
#include "atoll/testing/identity.h"

namespace atl::test {

/// What one execute() was given.
struct RecordedBatch {
  std::vector<std::string> ids;  ///< of the requests, in order
  std::vector<uint32_t> batch_sizes;
  uint32_t total_batch_size = 0;
  int64_t deadline_ns = 0;
  int64_t at_ns = 0;     ///< clock at entry
  std::string instance;  ///< InstanceSpec::name
};

/// How a FakeInstance behaves; shared by all instances of a FakeBackend. Set it before the requests come or
/// from the thread that runs the simulation.
struct FakeBehavior {
  /// Answers one request; default: the identity.
  std::function<void(Request&)> respond;
  /// Whether a request goes back to its scheduler for another execution instead of being answered (iterative
  /// sequences); empty: none does.
  std::function<bool(Request&)> reschedules;
  /// Called at each entry of execute, before anything else: a place to block or to move time.
  std::function<void(const Batch&)> on_execute;
  int64_t busy_ns = 0;        ///< a simulated execution takes this long: the fake clock moves inside execute
  bool answer_later = false;  ///< execute() returns at once; answer_held() answers
  uint32_t capacity = 0;      ///< batch weights that instances made from now on take at a time; 0: any number
  uint32_t fail_executes = 0;  ///< the next so many execute() calls fail without touching a request
  Code failure = Code::kInternal;
  bool ready = true;
  std::string unready_reason;
  uint32_t fail_loads = 0, fail_instances = 0;  ///< the next so many loads or instances fail with `failure`
};

/// Runs batches as FakeBehavior says, records them, and notices when two threads are inside at once.
/// execute() by one thread at a time, the rest [any].
class FakeInstance final : public BackendInstance {
 public:
  /// \param fake_clock  may be null; then busy_ns has no effect and moments are those of `clock`.
  FakeInstance(std::string name, FakeBehavior& behavior, const Clock& clock, FakeClock* fake_clock = nullptr,
               InferenceReporter* reporter = nullptr)
      : name_(std::move(name)),
        behavior_(behavior),
        clock_(clock),
        fake_clock_(fake_clock),
        reporter_(reporter) {
    if (behavior.capacity != 0) room_.emplace(behavior.capacity);
  }

  Status execute(const Batch& batch) noexcept override {
    if (inside_.exchange(true)) ++overlaps_;
    Status status = run(batch);
    inside_ = false;
    return status;
  }
  bool ready() const noexcept override { return behavior_.ready; }
  std::string unready_reason() const override { return behavior_.unready_reason; }
  uint32_t room() const noexcept override { return room_ ? room_->left() : BackendInstance::room(); }
  bool add_room_listener(RoomListener& listener) noexcept override {
    return room_ && room_->add_listener(listener);
  }
  void remove_room_listener(RoomListener& listener) noexcept override { room_->remove_listener(listener); }

  /// Answers the oldest `count` requests held because of answer_later, on this thread. \returns how many.
  size_t answer_held(size_t count = SIZE_MAX) {
    size_t answered = 0;
    while (answered < count) {
      Held held;
      {
        std::lock_guard lock(mutex_);
        if (held_.empty()) break;
        held = held_.front();
        held_.pop_front();
      }
      finish(*held.request, held.start_ns);
      ++answered;
    }
    return answered;
  }
  size_t held() const {
    std::lock_guard lock(mutex_);
    return held_.size();
  }
  std::vector<RecordedBatch> batches() const {
    std::lock_guard lock(mutex_);
    return batches_;
  }
  /// Entries of execute() while another thread was inside: must stay 0.
  uint32_t overlaps() const noexcept { return overlaps_; }
  /// Batches that were larger than the room for them: must stay 0.
  uint32_t overfills() const noexcept { return overfills_; }
  uint64_t executions() const noexcept { return executions_; }
  const std::string& name() const noexcept { return name_; }
  /// Millions of batches need not be kept. Default: recorded.
  void set_recording(bool record) noexcept { record_ = record; }

 private:
  struct Held {
    Request* request = nullptr;
    int64_t start_ns = 0;
  };
  Status run(const Batch& batch) {
    int64_t start = clock_.now_ns();
    if (behavior_.on_execute) behavior_.on_execute(batch);
    if (behavior_.fail_executes > 0) {
      --behavior_.fail_executes;
      return Status(behavior_.failure, "the fake instance was told to fail");
    }
    ++executions_;
    if (room_) {
      overfills_ += batch.total_batch_size > room_->left();
      room_->take(batch.total_batch_size);
    }
    if (record_) record(batch, start);
    if (behavior_.busy_ns != 0 && fake_clock_ != nullptr) fake_clock_->advance(behavior_.busy_ns);
    if (reporter_ != nullptr) reporter_->report_batch(batch.total_batch_size, times(start));
    for (Request* request : batch.requests) {
      if (behavior_.answer_later) {
        std::lock_guard lock(mutex_);
        held_.push_back({request, start});
      } else {
        finish(*request, start);
      }
    }
    return {};
  }
  void record(const Batch& batch, int64_t start) {
    RecordedBatch recorded{{}, {}, batch.total_batch_size, batch.deadline_ns, start, name_};
    for (const Request* request : batch.requests) {
      recorded.ids.emplace_back(request->id);
      recorded.batch_sizes.push_back(request->batch_size);
    }
    std::lock_guard lock(mutex_);
    batches_.push_back(std::move(recorded));
  }
  void finish(Request& request, int64_t start) {
    if (behavior_.reschedules && behavior_.reschedules(request)) {
      if (room_) room_->give_back(request.batch_weight());
      if (request.release(kReleaseReschedule).ok()) return;
    }
    if (behavior_.respond) {
      behavior_.respond(request);
    } else {
      answer_identity(request);
    }
    if (reporter_ != nullptr) reporter_->report_request(request, true, times(start));
    if (room_) room_->give_back(request.batch_weight());
    (void)request.release().ok();
  }
  ExecutionTimes times(int64_t start) const {
    int64_t now = clock_.now_ns();
    return {start, start, now, now};
  }

  std::string name_;
  FakeBehavior& behavior_;
  const Clock& clock_;
  FakeClock* fake_clock_;
  InferenceReporter* reporter_;
  std::atomic<bool> inside_{false};
  std::atomic<uint32_t> overlaps_{0};
  std::atomic<uint32_t> overfills_{0};
  std::optional<backends::Room> room_;
  std::atomic<uint64_t> executions_{0};
  bool record_ = true;
  mutable std::mutex mutex_;
  std::deque<Held> held_;
  std::vector<RecordedBatch> batches_;
};

/// Makes FakeModels and knows how many models and instances live. The backend outlives them. [any]
class FakeBackend : public Backend {
 public:
  explicit FakeBackend(const Clock& clock, FakeClock* fake_clock = nullptr)
      : clock_(clock), fake_clock_(fake_clock) {}
  virtual ~FakeBackend() = default;

  BackendTraits traits() const noexcept override { return backend_traits; }
  Result<std::string> complete_config(const ModelSource& source) noexcept override {
    ++completions;
    return complete ? complete(source) : Result<std::string>(source.config);
  }
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override {
    std::lock_guard lock(mutex_);
    loads_.push_back(source);
    if (behavior.fail_loads > 0) {
      --behavior.fail_loads;
      return Status(behavior.failure,
                    cat("the fake backend was told to fail the load of '", source.name, "'"));
    }
    return std::unique_ptr<BackendModel>(new FakeModel(*this));
  }

  Result<bool> serves(const ModelSource& source) noexcept override {
    return serves_any ? serves_any(source) : Result<bool>(false);
  }
  Result<std::unique_ptr<PendingModel>> begin_load(const ModelSource&) noexcept override {
    if (!loads_by_steps) return std::unique_ptr<PendingModel>();
    return std::unique_ptr<PendingModel>(new FakePending(*this));
  }

  /// Every load asked for, the failed ones too.
  std::vector<ModelSource> loads() const {
    std::lock_guard lock(mutex_);
    return loads_;
  }
  /// Instances that live, in the order they were made.
  std::vector<FakeInstance*> instances() const {
    std::lock_guard lock(mutex_);
    return instances_;
  }
  std::vector<InstanceSpec> specs() const {
    std::lock_guard lock(mutex_);
    return specs_;
  }
  int64_t live_models() const noexcept { return live_models_; }
  int64_t live_instances() const noexcept { return live_instances_; }

  FakeBehavior behavior;
  BackendTraits backend_traits;
  std::function<Result<std::string>(const ModelSource&)> complete;
  std::atomic<uint32_t> completions{0};
  /// Answers serves(); empty: no.
  std::function<Result<bool>(const ModelSource&)> serves_any;
  bool loads_by_steps = false;  ///< begin_load() gives a PendingModel, which does as the backend does
  std::atomic<int64_t> live_pending{0};

 private:
  class FakePending final : public PendingModel {
   public:
    explicit FakePending(FakeBackend& backend) : backend_(backend) { ++backend_.live_pending; }
    ~FakePending() override { --backend_.live_pending; }
    BackendTraits traits() const noexcept override { return backend_.traits(); }
    Result<std::string> complete(const ModelSource& source) noexcept override {
      return backend_.complete_config(source);
    }
    Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override {
      return backend_.load(source);
    }

   private:
    FakeBackend& backend_;
  };
  class FakeModel final : public BackendModel {
   public:
    explicit FakeModel(FakeBackend& backend) : backend_(backend) { ++backend_.live_models_; }
    ~FakeModel() override { --backend_.live_models_; }
    Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override {
      return backend_.make_instance(spec);
    }

   private:
    FakeBackend& backend_;
  };
  /// Forwards to the FakeInstance, so that the backend learns when it goes.
  class Handle final : public BackendInstance {
   public:
    Handle(FakeBackend& backend, std::unique_ptr<FakeInstance> instance)
        : backend_(backend), instance_(std::move(instance)) {}
    ~Handle() override { backend_.forget(instance_.get()); }
    Status execute(const Batch& batch) noexcept override { return instance_->execute(batch); }
    bool ready() const noexcept override { return instance_->ready(); }
    std::string unready_reason() const override { return instance_->unready_reason(); }
    uint32_t room() const noexcept override { return instance_->room(); }
    bool add_room_listener(RoomListener& listener) noexcept override {
      return instance_->add_room_listener(listener);
    }
    void remove_room_listener(RoomListener& listener) noexcept override {
      instance_->remove_room_listener(listener);
    }

   private:
    FakeBackend& backend_;
    std::unique_ptr<FakeInstance> instance_;
  };
  Result<std::unique_ptr<BackendInstance>> make_instance(const InstanceSpec& spec) {
    std::lock_guard lock(mutex_);
    specs_.push_back(spec);
    if (behavior.fail_instances > 0) {
      --behavior.fail_instances;
      return Status(behavior.failure, cat("the fake backend was told to fail instance '", spec.name, "'"));
    }
    auto instance = std::make_unique<FakeInstance>(spec.name, behavior, clock_, fake_clock_, spec.reporter);
    instances_.push_back(instance.get());
    ++live_instances_;
    return std::unique_ptr<BackendInstance>(new Handle(*this, std::move(instance)));
  }
  void forget(FakeInstance* instance) {
    std::lock_guard lock(mutex_);
    std::erase(instances_, instance);
    --live_instances_;
  }

  const Clock& clock_;
  FakeClock* fake_clock_;
  mutable std::mutex mutex_;
  std::vector<ModelSource> loads_;
  std::vector<FakeInstance*> instances_;
  std::vector<InstanceSpec> specs_;
  std::atomic<int64_t> live_models_{0}, live_instances_{0};
};

}  // namespace atl::test
