/// The instances of one scheduler, as admission sees them: which of them is idle, waits or is admitted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "atoll/lib/waiting_request.h"
#include "atoll/request/execution_admission.h"
#include "atoll/request/request.h"

namespace atl::schedulers {

/// Instances are known by their positions. All functions only under the scheduler's lock, close() excepted.
/// Where no plugin rules over executions there are none, and only active() and anybody_waits() may be asked.
class AdmittedInstances {
 public:
  /// \param admissions  borrowed; empty: every execution is admitted
  /// \param listener    told with the context given to admit(), and then sees to it that that instance comes
  ///                    to admit() or let_go() again, on another thread
  AdmittedInstances(std::span<AdmittedInstance* const> admissions, AdmissionListener& listener)
      : admissions_(admissions),
        listener_(listener),
        states_(admissions.size(), State::kIdle),
        follows_queue_(!admissions.empty() && admissions[0]->follows_queue()) {}
  AdmittedInstances(const AdmittedInstances&) = delete;
  AdmittedInstances& operator=(const AdmittedInstances&) = delete;
  /// Nobody is told any more when it returns. For when nothing is in the queue, without the lock.
  void close() noexcept {
    for (AdmittedInstance* admission : admissions_) (void)admission->withdraw();
  }

  bool active() const noexcept { return !admissions_.empty(); }
  bool anybody_waits() const noexcept { return waiting_ != 0; }
  /// Whether the admission is to know what waits, and says how large batches may be: by the next four.
  bool follows_queue() const noexcept { return follows_queue_; }
  /// A request has come to wait, before admit() for it.
  void arrived(const Request& request) noexcept {
    admissions_[0]->arrived(waiting_request(request, request.times.queue_start_ns));
  }
  /// Requests have left without being executed. \param weight  of those that still wait
  void left(uint64_t weight) noexcept { admissions_[0]->left(weight); }
  /// What the batch of one that was admitted may be.
  ExecutionGrant grant(uint32_t index) noexcept { return admissions_[index]->grant(); }
  /// It has its batch. \param weight  of those that still wait
  void begins(uint32_t index, uint32_t batch_size, uint64_t weight) noexcept {
    admissions_[index]->begins(batch_size, weight);
  }
  bool holds_resources(uint32_t index) const noexcept { return admissions_[index]->holds_resources(); }
  uint64_t turn(uint32_t index) const noexcept { return admissions_[index]->turn(); }

  /// For one that has a batch to execute, and is idle, has executed another one, or is here because the
  /// listener was told. \returns false if it has to wait, which let_go() then tells as well.
  /// \param executed  since it was admitted
  bool admit(uint32_t index, void* context, bool executed, bool insists) noexcept;
  /// It has nothing to execute. \returns false if that is because it waits to be admitted: it is not idle.
  bool let_go(uint32_t index, bool executed) noexcept;
  /// A request has come that must not wait for resources. If any waits, one is admitted whatever there is.
  void insist() noexcept;
  /// Nobody needs to wait any more. `idle(index)` is called for each that did and is not admitted yet.
  template <class Idle>
  void withdraw(Idle&& idle) noexcept {
    for (uint32_t i = 0; waiting_ != 0 && i < states_.size(); ++i) {
      if (states_[i] != State::kWaiting || !admissions_[i]->withdraw()) continue;
      states_[i] = State::kIdle;
      --waiting_;
      idle(i);
    }
  }

 private:
  enum class State : uint8_t { kIdle, kBeginsToWait, kWaiting, kAdmitted };

  std::span<AdmittedInstance* const> admissions_;
  AdmissionListener& listener_;
  std::vector<State> states_;
  const bool follows_queue_;
  uint32_t waiting_ = 0;  // in state kWaiting; the listener may have been told for some
};

}  // namespace atl::schedulers
