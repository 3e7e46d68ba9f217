/// Schedulers turn requests into batches for model instances. Service "atoll.scheduler/1", minor 1. A provider
/// makes one Scheduler for each loaded model version. docs/guide-scheduler.md builds one from nothing.
///
/// The smallest right scheduler executes each request by itself; its heart is
///
///     Request* const requests[] = {&request};
///     Status status = instance.execute({requests, request.batch_weight(), request.times.deadline_ns});
///     if (!status.ok()) {  // the backend did not take it
///       reporter.report_failure(request, FailureReason::kBackend);
///       fail_request(request, std::move(status));
///     }
///
/// Whatever its policy, a scheduler owes its requests what follows; the suite
/// atoll/testing/conformance/scheduler.h checks it. If a configuration asks for something that a provider
/// does not do, create() refuses it with UNIMPLEMENTED.
///
/// - One end. A request that enqueue() took is executed once, or the scheduler answers it:
///   InferenceReporter::report_failure(), then fail_request(). If execute() fails, the scheduler so answers
///   all requests of the batch (kBackend). Backends report the requests that they took.
/// - One at a time. An instance is not entered while it is inside execute(). An instance that is_bound() is
///   executed on a thread of its own that has the instance's placement().
/// - Room. Where an instance answers after execute() has returned, no batch is larger than its room(), and
///   requests wait until there is enough (BackendInstance::add_room_listener()). A scheduler that does not
///   look at room() leaves that to the backend's execute().
/// - What shares a batch. The weights (Request::batch_weight()) add up to at most max(1, max_batch_size).
///   Inputs with a variable dimension (-1 in `dims`) have the same shape but for the batch dimension, unless
///   the input has `allow_ragged_batch`. Shape tensors have the same shape and values. Where an input is
///   `optional`, all requests give the same inputs. Inputs of fixed dimensions always fit together. A batch
///   of one request is always right.
/// - Admission. If SchedulerContext::admissions is not empty, execute() on instance i runs only between a
///   successful ask() of admissions[i] and its end(). A scheduler that cannot ask refuses to be created.
///   Requests that are executed on an instance that holds_resources() get kHoldsResources before, and for
///   requests with kCallerHoldsResources the scheduler insists.
/// - Cancellation (Request::cancellation). A request that waits leaves its queue at once, also while every
///   instance is busy, and is answered CANCELLED with an empty text (kCanceled). The answer comes from
///   another thread than the one that cancels, because that one still uses the request. A request that is
///   being executed has the flag set; whether to stop is up to the backend.
/// - Deadline (times.deadline_ns). If it has passed when the request's turn comes, the request is not
///   executed and is answered in the same way: its client has given up.
/// - Priority. 1 is the highest level, 0 means the model's default level. Levels mean what
///   `dynamic_batching.priority_levels` of the configuration says; without those a scheduler ignores them.
/// - Timeout (timeout_us). It counts where a queue policy allows it (`allow_timeout_override`), and can
///   shorten the policy's own timeout. When it has passed, the request is answered UNAVAILABLE "Request
///   timeout expired" (kRejected), or served after those that are in time, as the policy says. Without a
///   queue policy a scheduler ignores it.
/// - Times. times.queue_start_ns is set by who calls enqueue(); where it is 0 the scheduler sets it. The
///   backend reports the time from then to the execution as queueing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/models/model.h"
#include "atoll/request/execution_admission.h"
#include "atoll/request/request.h"
#include "atoll/request/statistics.h"

namespace atl {

/// One instance that a scheduler may run batches on. Both pointers outlive the scheduler.
struct ScheduledInstance {
  BackendInstance* backend = nullptr;
  const InstanceSpec* spec = nullptr;
};

/// What a scheduler works with. Everything here outlives the scheduler. Time and threads come from here and
/// from nowhere else, so the scheduler that serves is the one that the tests run in a simulation.
struct SchedulerContext {
  std::string model_name;
  int64_t model_version = 0;
  /// A serialized inference.ModelConfig: completed, normalised and validated.
  std::string_view config;
  /// The local folder that holds config.pbtxt and the folders of the versions.
  std::string model_directory;
  /// 0: the model does not batch, and every batch has one request.
  uint32_t max_batch_size = 0;
  /// The instances that are not passive; at least one, but none for an ensemble.
  std::span<const ScheduledInstance> instances;
  /// Counts what becomes of requests (atoll/request/statistics.h).
  InferenceReporter* reporter = nullptr;
  Clock* clock = nullptr;
  /// Makes the scheduler's threads.
  ExecutorFactory* executors = nullptr;
  /// The admission of each of the instances, in their order. Empty: every execution is admitted, and nobody
  /// is to be asked.
  std::span<AdmittedInstance* const> admissions;
  /// What serves each step of `ensemble_scheduling`, in the order of the steps. All requests of an ensemble's
  /// version meet the same versions of its members: when a member changes, the ensemble gets a new scheduler.
  /// Empty: the model is not an ensemble.
  std::span<Model* const> members;
};

/// What the request that is to be executed next waits for.
enum class QueueWait : uint32_t {
  kNothing,    ///< no request waits
  kInstance,   ///< an instance that is free: all of them execute
  kBatch,      ///< more requests, for a fuller batch: an instance is free
  kAdmission,  ///< the admission of an execution: AdmittedInstance::shortages() says why
  kRoom,       ///< room in an instance, which still answers what it was given before
  kSlot,       ///< a slot for its sequence: others have all of them
};

/// The requests of one priority level that wait.
struct WaitingLevel {
  uint64_t level = 0;  ///< from 1, which is served first; 0: the queue has no levels
  uint64_t requests = 0;
  /// RequestTimes::queue_start_ns of the one that was queued first. Of requests that a queue policy has moved behind the others
  /// the first one that was moved counts.
  int64_t oldest_ns = 0;
};

/// What waits for a model version at a moment. Since minor 1. It has room for all that it says, so a scheduler allocates nothing
/// while it writes one under its lock.
struct QueueDescription {
  static constexpr size_t kLevelsMax = 16;
  /// Of so many requests, at most, the inputs are added up.
  static constexpr uint64_t kSampleMax = 64;

  uint64_t requests = 0;
  /// The least of WaitingLevel::oldest_ns; 0: none waits, or all of them behind a request of their own sequence that executes.
  int64_t oldest_ns = 0;
  /// Bytes of the inputs of those requests that are served first, and how many requests these are.
  uint64_t sampled_bytes = 0, sampled_requests = 0;
  /// Levels in which requests wait, ascending. If there are more than have room, the requests of the others count in
  /// `requests` alone.
  std::array<WaitingLevel, kLevelsMax> levels{};
  uint32_t level_count = 0;

  QueueWait waits_for = QueueWait::kNothing;
  /// With kBatch: requests of the batch that forms, the sum of their weights, and the largest sum that there may be.
  uint64_t batch_requests = 0, batch_size = 0, batch_size_max = 0;
  /// With kBatch: when it goes at the latest; 0: that is not known.
  int64_t batch_goes_ns = 0;
  /// set_draining() was called last with true.
  bool is_draining = false;
};

/// The queue of one model version. Functions are called by many threads at once and must not block [request],
/// unless said otherwise. The destructor joins the scheduler's threads; it is called only while in_flight()
/// is 0.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// Takes a validated request, or refuses it and leaves it with the caller. May execute it on this very
  /// thread, so that it may be answered and gone when this returns.
  /// Errors: UNAVAILABLE the queue is full, or "Server is stopping, scheduler for model has stopped accepting
  /// new inference requests".
  virtual Status enqueue(Request& request) noexcept = 0;
  /// Takes no new requests from now on; what is queued is still served. Requests of running sequences and
  /// steps of other requests (kIsStep) are still taken, because what was accepted may wait for them. [any]
  virtual void stop_accepting() noexcept = 0;
  /// How many requests are queued or inside an execute() that has not returned. Requests that a backend
  /// answers later are not counted: the frontend's ModelRef keeps the model for those. [any]
  virtual uint64_t in_flight() const noexcept = 0;

  // --- of those that know sequences ---

  /// Sequences that more requests may come to. A version that is replaced or unloaded is kept for a while as
  /// long as there are any. [any]
  virtual uint64_t open_sequences() const noexcept { return 0; }
  /// Whether this sequence is open here. \param id  take it apart with owned_sequence() (atoll/request/owned_sequence.h):
  /// another owner's sequence of the same id is another sequence
  virtual bool has_sequence(const SequenceId& /*id*/) const noexcept { return false; }
  /// Ends all sequences: their time is over. Requests of theirs that wait are answered UNAVAILABLE, and
  /// nothing new is taken. [any]
  virtual void end_sequences() noexcept {}

  // --- since minor 1, for those who operate the server ---

  /// What waits, and for what. A request takes no lock for it that it would not take without it. It is held up while the
  /// description is made, which is a bounded number of steps: QueueDescription::kSampleMax requests are looked
  /// at and as many levels, however long the queue is. [any]
  virtual QueueDescription describe_queue() noexcept { return {}; }
  /// Takes requests that wait out of the queue and answers them UNAVAILABLE, with a text that names the server's operator, on
  /// another thread (FailureReason::kCanceled). It is not CANCELLED, which is what clients do themselves. A sequence ends when one
  /// of its requests is taken out, with all others that wait; those that wait behind a request of their sequence that executes
  /// are left alone. [any]
  /// \param level  WaitingLevel::level; 0: all levels
  /// \param most  how many are taken out by this call; a sequence that has more goes as a whole. Other requests are held up meanwhile, so ask for a few hundred at a time
  /// \returns how many were taken out
  virtual uint64_t cancel_waiting(uint64_t /*level*/, uint64_t /*most*/) noexcept { return 0; }
  /// With true: takes no new requests, as after stop_accepting() but with a text that says so, until it is called with false.
  /// What is queued is served, and does not wait for fuller batches. [any]
  /// \returns false: this scheduler cannot
  virtual bool set_draining(bool /*draining*/) noexcept { return false; }
};

/// The priority levels of a queue: from 1, which is served first, to `count`.
struct PriorityLevels {
  /// 0: the queue has no levels.
  uint64_t count = 0;
  /// The level of requests that name none, or one that does not exist.
  uint64_t standard = 0;
};

/// What a model's configuration asks of its scheduler. Borrowed during the call.
struct SchedulingDemand {
  /// A serialized inference.ModelConfig: completed, normalised and validated.
  std::string_view config;
  /// One of kSchedulerKinds, as the fields of the configuration say.
  std::string_view kind;
  /// Those of `dynamic_batching`; none without it.
  PriorityLevels priorities;
};

/// The kinds that fields of a configuration ask for. "default": neither batching nor sequences. "dynamic":
/// `dynamic_batching`. "sequence_direct", "sequence_oldest": `sequence_batching` with one or the other
/// strategy. "ensemble": `ensemble_scheduling`.
inline constexpr std::string_view kSchedulerKinds[] = {"default", "dynamic", "sequence_direct",
                                                       "sequence_oldest", "ensemble"};

/// How well a scheduler serves a model. Of several schedulers the fittest one gets it. A scheduler that is
/// made for just such configurations may return more than kFits.
enum Fitness : uint32_t {
  /// Its answers would be wrong ones.
  kDoesNotFit = 0,
  /// It serves a model that names it, and no other.
  kFitsIfNamed = 1,
  /// Answers are right, but something is missing that the configuration asks for (batches, for example); the
  /// log says so.
  kStandsIn = 2,
  kFits = 16,
};

/// Whether a kind is one of kSchedulerKinds.
constexpr bool is_asked_for(std::string_view kind) noexcept {
  for (std::string_view known : kSchedulerKinds) {
    if (kind == known) return true;
  }
  return false;
}

/// The Fitness that follows from the kinds alone. "default" and "dynamic" answer requests without sequences
/// alike, so "default" stands in for "dynamic". Each of the other kinds changes what is answered, and has no
/// substitute. A provider of a kind that no field asks for serves whatever model names it.
/// \param kind  the provider's
/// \param demanded  the model's
constexpr uint32_t fitness_of_kind(std::string_view kind, std::string_view demanded) noexcept {
  if (kind == demanded) return kFits;
  if (kind == "default" && demanded == "dynamic") return kStandsIn;
  if (kind == "dynamic" && demanded == "default") return kFitsIfNamed;
  return is_asked_for(kind) ? kDoesNotFit : kFitsIfNamed;
}

/// Service "atoll.scheduler/1". A model that names a scheduler in its configuration is served by the provider
/// whose instance has that name:
///
///     parameters { key: "scheduler" value { string_value: "lifo" } }
///
/// A model that names none is served by the provider that fits best (serves()); of equal ones, by the one of
/// the highest rank. Loaded models follow when providers come, are replaced, or go.
class SchedulerProvider {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.scheduler/1";
  /// From this minor on its schedulers have describe_queue() and what follows it.
  static constexpr uint32_t kOperatedMinor = 1;

  /// What kind of scheduler it is, for texts of errors and for serves(): one of kSchedulerKinds, or a word of
  /// its own ("lifo"). Constant. [any]
  virtual std::string_view kind() const noexcept = 0;
  /// Makes the scheduler of one model version; never null. The instances may have another scheduler at the
  /// same time, while a model moves from one to the other. [worker]
  /// Errors: INVALID_ARGUMENT the configuration is wrong; UNIMPLEMENTED it asks for something that this
  /// scheduler does not do.
  virtual Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context) noexcept = 0;

  /// How well it serves such a model: a Fitness, or more than kFits. Asked for every loaded model when a
  /// scheduler comes or goes, while the caller holds locks: it looks at the demand and at nothing else. [any]
  virtual uint32_t serves(const SchedulingDemand& demand) const noexcept {
    return fitness_of_kind(kind(), demand.kind);
  }
  /// The levels of the queue that it makes for such a model. Admission needs them, which has to know a
  /// request's level before the request is in the queue. [worker]
  virtual PriorityLevels priorities(const SchedulingDemand& demand) const noexcept {
    return demand.priorities;
  }

 protected:
  ~SchedulerProvider() = default;
};

}  // namespace atl
