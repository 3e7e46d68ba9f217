/// A backend's instance as schedulers see it: passes batches on, one at a time, and knows how much it is
/// executing.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "atoll/backend/backend.h"
#include "atoll/core/fault_notes.h"
#include "models/catalog/requests/device_inputs.h"
#include "models/catalog/requests/output_check.h"

namespace atl::models {

/// Costs an uncontended lock, two relaxed stores, a note and a look for device memory a batch, and a look at
/// each request's trace and outputs. Without it nobody could tell queued requests from executing ones. Two schedulers
/// have the instance while one of them takes the other's place; they take turns then, so neither waits longer
/// than for one batch, or, where the other one was quicker to use the instance's room, until there is room
/// again.
class CountedInstance final : public BackendInstance {
 public:
  /// \param backend_minor  of the service that made the instance
  /// \param notes  told what the thread does while the instance executes; may be null, else outlives this
  /// \param device_inputs  brings inputs to the CPU; null: the instance reads device memory itself
  /// \param reporter  of the instance
  /// \param outputs  tells what is wrong with answers; null: nobody looks
  CountedInstance(std::unique_ptr<BackendInstance> instance, uint32_t backend_minor,
                  FaultNotes* notes = nullptr, std::string doing = {},
                  const DeviceInputs* device_inputs = nullptr, InferenceReporter* reporter = nullptr,
                  std::unique_ptr<OutputCheck> outputs = nullptr) noexcept
      : outputs_(std::move(outputs)),
        instance_(std::move(instance)),
        has_reasons_(backend_minor >= Backend::kUnreadyReasonMinor),
        notes_(notes),
        doing_(std::move(doing)),
        device_inputs_(device_inputs),
        reporter_(reporter) {}

  Status execute(const Batch& batch) noexcept override {
    Turn turn(*this);
    executing_.store(++batches_ << 32 | static_cast<uint32_t>(batch.requests.size()),
                     std::memory_order_relaxed);
    FaultNote note(notes_, doing_.c_str());
    if (has_room_.load(std::memory_order_relaxed)) wait_for_room(batch.total_batch_size);
    const bool maybe_on_device = device_inputs_ != nullptr && device_inputs_->are_possible();
    watch(batch);
    Status status =
        maybe_on_device ? device_inputs_->execute(*instance_, batch, reporter_) : instance_->execute(batch);
    if (!status.ok()) unwatch(batch);
    executing_.store(batches_ << 32, std::memory_order_relaxed);
    return status;
  }
  bool ready() const noexcept override { return instance_->ready(); }
  std::string unready_reason() const override {
    return has_reasons_ ? instance_->unready_reason() : std::string();
  }
  uint32_t room() const noexcept override { return instance_->room(); }
  bool add_room_listener(RoomListener& listener) noexcept override {
    const bool added = instance_->add_room_listener(listener);
    // The first scheduler comes when it is empty.
    if (added) most_room_.store(std::max(most_room_.load(), instance_->room()), std::memory_order_relaxed);
    has_room_.store(added, std::memory_order_relaxed);
    return added;
  }
  void remove_room_listener(RoomListener& listener) noexcept override {
    instance_->remove_room_listener(listener);
  }

  /// Requests of the batch that runs; of an instance that answers after execute(), how much of its room is taken. [any]
  uint32_t executing() const noexcept {
    const auto of_batch = static_cast<uint32_t>(executing_.load(std::memory_order_relaxed));
    return of_batch != 0 ? of_batch : taken_room();
  }
  /// The number of the execution that the instance is in; no other execution has it. 0: the instance is in none. An instance that
  /// answers after execute() is in one as long as it has less room than when it is empty; the number changes with its room and with
  /// each batch. [any]
  uint64_t execution() const noexcept {
    const uint64_t executing = executing_.load(std::memory_order_relaxed);
    if (static_cast<uint32_t>(executing) != 0) return executing;
    const uint32_t taken = taken_room();
    return taken == 0 ? 0 : executing | taken;
  }

 private:
  class Turn {
   public:
    explicit Turn(CountedInstance& instance) noexcept : lock_(instance.executes_, std::defer_lock) {
      if (instance.waiting_.load(std::memory_order_relaxed) == 0 && lock_.try_lock()) return;
      // Who waits here is the next one: nobody passes it by as long as it is counted.
      std::scoped_lock next(instance.next_);
      instance.waiting_.fetch_add(1, std::memory_order_relaxed);
      lock_.lock();
      instance.waiting_.fetch_sub(1, std::memory_order_relaxed);
    }

   private:
    std::unique_lock<std::mutex> lock_;
  };

  uint32_t taken_room() const noexcept {
    const uint32_t most =
        has_room_.load(std::memory_order_relaxed) ? most_room_.load(std::memory_order_relaxed) : 0;
    const uint32_t room = most == 0 ? 0 : instance_->room();
    return room >= most ? 0 : most - room;
  }
  void watch(const Batch& batch) const noexcept {
    if (outputs_ == nullptr) return;
    for (Request* request : batch.requests) outputs_->watch(*request);
  }
  /// A batch that failed was not touched.
  void unwatch(const Batch& batch) const noexcept {
    if (outputs_ == nullptr) return;
    for (Request* request : batch.requests) OutputCheck::unwatch(*request);
  }
  /// A scheduler gives no more than there is room for, but does not see what another one gives.
  void wait_for_room(uint32_t weight) const noexcept {
    while (instance_->room() < weight) std::this_thread::sleep_for(kRoomInterval);
  }

  static constexpr std::chrono::milliseconds kRoomInterval{1};
  const std::unique_ptr<OutputCheck> outputs_;  // it sees the instance's last responses
  std::unique_ptr<BackendInstance> instance_;
  const bool has_reasons_;
  FaultNotes* const notes_;
  const std::string doing_;
  const DeviceInputs* const device_inputs_;
  InferenceReporter* const reporter_;
  std::mutex executes_;
  std::mutex next_;
  std::atomic<uint32_t> waiting_{0};
  uint64_t batches_ = 0;  // with executes_
  std::atomic<uint64_t> executing_{
      0};  // the latest batch's number, and its requests in the lower half while it runs
  std::atomic<uint32_t> most_room_{0};
  std::atomic<bool> has_room_{false};  // and says how much
};

}  // namespace atl::models
