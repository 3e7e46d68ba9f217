/// Calls that wait for leases.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "atoll/request/cancellation.h"
#include "pools/leases/book/lease_book.h"

namespace atl::pools {

class LeaseWaits;

/// One call that waits until a lease is ACTIVE or over, whatever it came by. [the executor of the leases]
class LeaseWaiting : public LeaseWatcher,
                     private CancelListener,
                     public std::enable_shared_from_this<LeaseWaiting> {
 public:
  /// \param cancellation  of the call \param for_its_end  being ACTIVE is not enough
  LeaseWaiting(Cancellation& cancellation, std::string lease, bool for_its_end)
      : cancellation_(cancellation), lease_(std::move(lease)), for_its_end_(for_its_end) {}
  LeaseWaiting(const LeaseWaiting&) = delete;
  LeaseWaiting& operator=(const LeaseWaiting&) = delete;
  virtual ~LeaseWaiting() = default;

  void lease_changed(const Lease& lease) final;

 protected:
  /// Of a lease that failed: what its client is told by it.
  bool has_failed(const Lease& lease) const { return lease.state() == LeaseState::kFailed && !for_its_end_; }

  // --- the call's own ---
  /// Before the first change.
  virtual void begin() {}
  /// A change on the way. \returns false: the client has gone
  virtual bool show(const Lease& lease) = 0;
  /// The last one, after which the call has ended.
  virtual void finish(const Lease& lease) = 0;
  /// The call ends for another reason.
  virtual void give_up(const Status& why) = 0;

 private:
  friend class LeaseWaits;
  void on_cancel(void*) noexcept override;
  /// \returns false: it has ended before
  bool leave();

  Cancellation& cancellation_;
  const std::string lease_;
  const bool for_its_end_;
  LeaseWaits* waits_ = nullptr;
  bool has_ended_ = false;
};

/// All of them. [the executor of the leases]
class LeaseWaits {
 public:
  /// \param executor  the book's; both outlive this
  LeaseWaits(LeaseBook& leases, SerialExecutor& executor) : leases_(leases), executor_(executor) {}
  LeaseWaits(const LeaseWaits&) = delete;
  LeaseWaits& operator=(const LeaseWaits&) = delete;

  /// \param waiting  for a lease that is there
  void add(std::shared_ptr<LeaseWaiting> waiting);
  /// Those who wait are answered that the server ends; their leases go on.
  void drain();
  bool drains() const noexcept { return drains_; }

 private:
  friend class LeaseWaiting;
  LeaseBook& leases_;
  SerialExecutor& executor_;
  std::set<std::shared_ptr<LeaseWaiting>> all_;
  bool drains_ = false;
};

}  // namespace atl::pools
