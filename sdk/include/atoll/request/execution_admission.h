/// Admission of executions: which model instances may execute at the same time, over all models. Service
/// "atoll.execution_admission/1", minor 2, provided by admission/rate_limiter, which serves the `rate_limiter`
/// settings of a configuration's instance groups, and by admission/deadlines; a server may have none. Where
/// there are several, an execution is admitted when all of them have admitted it.
///
/// The catalog adds an instance when it is loaded, before its first execution, and takes it away at its end.
/// Whoever runs batches on the instance (the scheduler, and the catalog at a warm-up) asks before each
/// execution and says when the execution has ended:
///
///     if (admitted.ask(*this, slot, /*insists=*/false)) {
///       instance.execute(batch);
///       admitted.end(/*executed=*/true);
///     }  // else: AdmissionListener::admitted() is called when it may execute
///
/// Without a provider nothing is asked. An instance that names no resources is always admitted by
/// admission/rate_limiter.
///
/// Queues, since minor 1. A provider that decides by what waits says so (follows_queue()). A scheduler that
/// makes batches then tells it which requests come to wait and when some leave, asks how large the batch of
/// an admitted execution may be, and says how large it is. A scheduler that does not still has its executions
/// admitted, and makes batches as it likes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "atoll/core/status.h"

namespace atl {

/// A resource that each execution of an instance holds, with the number of its copies: an entry of
/// `rate_limiter.resources` in the configuration.
struct ExecutionResource {
  std::string name;
  uint32_t count = 0;
  /// The copies are taken from one pool of the whole server; otherwise from the pool of the instance's
  /// device.
  bool global = false;
};

/// An instance as admission sees it.
struct ExecutionDemand {
  std::string model;
  int64_t version = 0;
  /// The instance's name, "<group>_<n>".
  std::string instance;
  /// InstanceSpec::device_id.
  int32_t device_id = 0;
  /// `rate_limiter.priority` of the configuration: an instance with 2 gets half as many turns as one with 1.
  /// 0 counts as 1.
  uint32_t priority = 0;
  /// Empty: the instance needs none. If a resource is named several times, the largest count is taken.
  std::vector<ExecutionResource> resources;
  /// The device is a GPU; else device_id means nothing, and the instance executes on the CPU's cores.
  bool on_gpu = false;
  /// `max_batch_size` of the configuration.
  uint32_t max_batch_size = 0;
  /// The parameter `latency_target_microseconds` of a model with `dynamic_batching`, in nanoseconds; 0: it has
  /// none.
  int64_t latency_target_ns = 0;
};

/// A request that has come to wait for the instances of a model version. Since minor 1.
struct WaitingRequest {
  /// When it came to the server. Times are the host's (Clock::now_ns()).
  int64_t since_ns = 0;
  /// The client's own deadline; 0: none.
  int64_t deadline_ns = 0;
  /// Request::batch_weight().
  uint32_t weight = 1;
};

/// What an admitted execution may be. Since minor 1.
struct ExecutionGrant {
  /// The largest sum of batch weights. A batch of one request may be heavier.
  uint32_t batch_size_max = UINT32_MAX;
  /// When the execution of such a batch is expected to end; 0: nothing is known. Requests whose deadline is
  /// earlier would be late, and may be refused instead.
  int64_t ends_ns = 0;
};

/// Something that an instance which waits is not admitted for. Since minor 2.
struct AdmissionShortage {
  /// ExecutionResource::name; empty: there is enough of everything, and others are to execute before
  std::string resource;
  /// Whose copies they are: of the whole server, or of the device.
  bool global = false;
  int32_t device_id = 0;
  /// Copies that there are, that executions hold, that are kept for others who wait, and that this instance needs.
  uint64_t copies = 0, in_use = 0, kept = 0, needed = 0;
};

/// Called when an instance that waits is admitted.
class AdmissionListener {
 public:
  /// The execution that ask() or ask_again() asked for may begin. Called on the thread of whoever made it
  /// possible, which may hold locks of its own. So hand the work to another thread and return: take no lock
  /// but the one for that, and do not call the AdmittedInstance.
  /// \param context  what ask() was given
  virtual void admitted(void* context) noexcept = 0;

 protected:
  ~AdmissionListener() = default;
};

/// One instance's account with the admission. At any moment the instance holds nothing, waits, or is admitted
/// (for one execution at a time). Functions may be called from any thread [any], but one at a time for one
/// instance; withdraw(), insist(), turn() and shortages() may be called beside the others.
///
/// The destructor gives back what the instance holds. It must not be called while the instance waits:
/// withdraw() first.
class AdmittedInstance {
 public:
  virtual ~AdmittedInstance() = default;
  /// Whether an execution of this instance holds any resources. Constant. Requests that are executed on an
  /// instance for which this is true get kHoldsResources.
  virtual bool holds_resources() const noexcept = 0;

  /// Asks for one execution.
  /// \param insists  the instance is admitted in any case, even beyond the copies that there are. For a
  /// request with kCallerHoldsResources: the execution that waits for it may hold what it lacks, and would
  /// never end
  /// \returns true: it may execute now. False: it waits, and the listener is called once, maybe before this
  /// returns, unless withdraw() comes first.
  virtual bool ask(AdmissionListener& listener, void* context, bool insists) noexcept = 0;
  /// Does end(true) and ask() in one step, so that this instance takes no precedence over those that wait.
  virtual bool ask_again(AdmissionListener& listener, void* context, bool insists) noexcept = 0;
  /// Says that the admitted execution has ended, and gives back what it held. Others that wait may be
  /// admitted by it, so their listeners are called before this returns.
  /// \param executed  false: the admission was not used and does not count as a turn
  virtual void end(bool executed) noexcept = 0;
  /// Stops waiting. \returns true: the instance was waiting, and the listener will not be called. False: it
  /// was not waiting, or is admitted; the listener has returned by then.
  virtual bool withdraw() noexcept = 0;
  /// Admits the instance now if it waits, as ask() with `insists` would. The listener is called before this
  /// returns.
  virtual void insist() noexcept = 0;
  /// How many turns the instance has had: its executions times its priority. Of several idle instances of a
  /// model, ask for the one with the lowest value first.
  virtual uint64_t turn() const noexcept = 0;

  // --- since minor 1 ---
  /// Whether the functions below are to be called. Constant, and the same for all instances of a version.
  virtual bool follows_queue() const noexcept { return false; }
  /// A request has come to wait for any of the version's instances. Told to one of them, before ask().
  virtual void arrived(const WaitingRequest& /*request*/) noexcept {}
  /// Requests have left without being executed. \param weight  the sum of the weights that still wait for the
  /// version's instances
  virtual void left(uint64_t /*weight*/) noexcept {}
  /// What the admitted execution may be, by what is known now. The batch is made next, if at all.
  virtual ExecutionGrant grant() noexcept { return {}; }
  /// The admitted execution begins, with a batch of that size; end() or ask_again() says when it has ended. A
  /// batch that nobody announced is one of unknown size. \param weight  as of left()
  virtual void begins(uint32_t /*batch_size*/, uint64_t /*weight*/) noexcept {}

  // --- since minor 2 ---
  /// Why this instance waits; empty: it does not. For those who operate the server. May be called beside all other
  /// functions, and holds others up no longer than these do. [any]
  virtual std::vector<AdmissionShortage> shortages() const noexcept { return {}; }
};

/// Service "atoll.execution_admission/1".
class ExecutionAdmission {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.execution_admission/1";
  /// From this minor on the instances have follows_queue() and what belongs to it.
  static constexpr uint32_t kQueueMinor = 1;
  /// From this minor on they have shortages().
  static constexpr uint32_t kShortagesMinor = 2;

  /// Adds an instance; never null. The result has to be destroyed before the service is let go. [worker]
  /// Errors: INVALID_ARGUMENT the demand can never be met (it names more copies than the server's options
  /// give), or it uses a resource as global that another instance uses by device, or the other way round.
  virtual Result<std::unique_ptr<AdmittedInstance>> add_instance(const ExecutionDemand& demand) noexcept = 0;

 protected:
  ~ExecutionAdmission() = default;
};

}  // namespace atl
