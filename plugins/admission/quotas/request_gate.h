/// Requests' admission as a service: the policy with a lock, threads and a timer around it.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "admission/quotas/admission_control.h"
#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/metrics.h"
#include "atoll/request/cancellation.h"
#include "atoll/request/request_admission.h"

namespace atl::quotas {

/// One lock, held for a few set operations. Waiting requests go on, or are answered, on threads of its own;
/// those of a tenant all on the same one, so that they keep their order.
class RequestGate final : public RequestAdmission, private CancelListener {
 public:
  /// \param is_active  false: nobody is asked for and no thread is started
  RequestGate(AdmissionSettings settings, bool is_active, Clock& clock);
  virtual ~RequestGate() = default;

  /// \param threads  that resume requests. Errors: those of ExecutorFactory::create().
  Status start(ExecutorFactory& executors, uint32_t threads);
  /// Nobody holds the service any more, so nothing waits.
  void stop();
  /// Other limits; not whether there are any. What runs and waits, and what is counted, stays.
  void follow(AdmissionSettings settings) noexcept;
  /// What is counted, since the start.
  void collect(MetricSink& sink) const noexcept;
  uint64_t in_flight() const;

  // --- RequestAdmission ---
  bool active() const noexcept override { return is_active_; }
  Result<AdmissionOutcome> ask(Request& request, uint64_t priority, AdmissionWaiter& waiter,
                               AdmissionTicket* ticket) noexcept override;
  void ended(const AdmissionTicket& ticket) noexcept override;
  /// Also where no quota has tokens: the use is in the metrics.
  bool counts_tokens() const noexcept override { return true; }
  void used(const AdmissionTicket& ticket, const TokenUse& use) noexcept override;

 private:
  void on_cancel(void* context) noexcept override;
  void on_timer() noexcept;
  void set_timer_locked() noexcept;
  void post(DecidedList& decided) noexcept;
  static void resume(void* waiter) noexcept;
  static AdmissionTicket ticket_of(const Waiter& waiter) noexcept;

  const bool is_active_;
  Clock& clock_;
  std::vector<SerialExecutorPtr> executors_;  ///< the first has the timer
  mutable std::mutex mutex_;                  // guards everything below
  AdmissionControl control_;
  TimerId timer_ = 0;
  int64_t timer_ns_ = 0;  ///< 0: no timer is set
};

}  // namespace atl::quotas
