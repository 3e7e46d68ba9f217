/// Schedulers turn requests into batches for model instances. A provider makes one Scheduler a loaded model
/// version.
///
/// Whatever its policy, a scheduler owes what follows; the suite atoll/testing/conformance/scheduler.h looks.
/// What a configuration asks for and a provider does not do, create() refuses with UNIMPLEMENTED.
///
/// - One end. A request that enqueue() took is executed once, or answered by the scheduler: fail_request(),
///   after InferenceReporter::report_failure(). If execute() fails, all of its batch are (kBackend). Backends
///   report what they took.
/// - One at a time. No instance is entered while it is inside execute(). One that is_bound() is executed on
///   a thread of its own with its placement().
/// - Room. Where an instance answers later, no batch is larger than its room(), and requests wait until there
///   is enough (BackendInstance::add_room_listener). A scheduler that does not look leaves it to the backend.
/// - What shares a batch. The weights (Request::batch_weight) add up to max(1, max_batch_size) at most.
///   Inputs with a variable dimension (-1 in `dims`) have the same shape but for the batch dimension, unless
///   `allow_ragged_batch`; shape tensors the same shape and values; where an input is `optional`, all
///   requests give the same inputs. Inputs of fixed dimensions always fit. Batches of one request are always
///   right.
/// - Admission. If `admissions` is not empty, execute() on instance i runs only between a successful ask() of
///   admissions[i] and its end(). A scheduler that does not ask refuses to be created. Requests executed on
///   an instance that holds_resources() are given kHoldsResources before, and for those with
///   kCallerHoldsResources the scheduler insists.
/// - Cancellation (Request::cancellation). A request that waits leaves at once, also while every instance is
///   busy, and is answered CANCELLED with an empty text (kCanceled) on a thread other than the one that
///   cancels, which still uses it. One that is executing sees the flag; it is the backend's.
/// - Deadline (times.deadline_ns). When a request's turn comes after it, it is not executed and is answered
///   likewise: its client has given up.
/// - Priority. 1 is the highest level, 0 the model's default. It means what `dynamic_batching` says of
///   priority_levels; without those a scheduler ignores it.
/// - Timeout (timeout_us). Counts where a queue policy allows it (`allow_timeout_override`), and shortens the
///   policy's own: UNAVAILABLE "Request timeout expired" (kRejected), or the request is served after those in
///   time. Without a queue policy a scheduler ignores it.
/// - Times. times.queue_start_ns is set by who calls enqueue(); a scheduler sets it where it is 0, and the
///   backend reports the time from then to its execution as queueing.
#pragma once

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

/// One instance a scheduler may run batches on.
struct ScheduledInstance {
  BackendInstance* backend = nullptr;
  const InstanceSpec* spec = nullptr;
};

/// What a scheduler works with; everything outlives the scheduler. Time and threads come from here, so the
/// scheduler that serves is the one that is simulated.
struct SchedulerContext {
  std::string model_name;
  int64_t model_version = 0;
  std::string_view config;  ///< serialized inference.ModelConfig, final
  std::string model_directory;
  uint32_t max_batch_size = 0;                   ///< 0: the model does not batch
  std::span<const ScheduledInstance> instances;  ///< not passive; at least one, none for ensembles
  InferenceReporter* reporter = nullptr;
  Clock* clock = nullptr;
  ExecutorFactory* executors = nullptr;
  /// Of each of the instances, in their order; empty: every execution is admitted, and nobody is to be asked.
  std::span<AdmittedInstance* const> admissions;
  /// What serves each step of `ensemble_scheduling`, in their order; held as long as the scheduler lives, so
  /// that all requests of an ensemble's version meet the same versions of its members: when one of those
  /// changes, the ensemble is made anew. Empty: the model is not an ensemble.
  std::span<Model* const> members;
};

/// [request] unless said otherwise.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// Takes a validated request, or refuses it and leaves it with the caller. May run it on this very thread.
  /// Errors: UNAVAILABLE queue full, or "Server is stopping, scheduler for model has stopped accepting new
  /// inference requests".
  virtual Status enqueue(Request& request) noexcept = 0;
  /// [any] No new requests from now on (of running sequences and steps of other requests, kIsStep, excepted, which
  /// what was accepted waits for); what is queued is still served.
  virtual void stop_accepting() noexcept = 0;
  /// [any] Requests queued or inside an execute() that has not returned. Backends that answer later are not
  /// counted: the frontend's ModelRef keeps the model for those.
  virtual uint64_t in_flight() const noexcept = 0;

  // --- of those that know sequences ---

  /// [any] Sequences that more requests may come to. A version that is replaced or unloaded is kept for a while
  /// as long as there are any.
  virtual uint64_t open_sequences() const noexcept { return 0; }
  /// [request] Whether it is one of them.
  virtual bool has_sequence(const SequenceId& /*id*/) const noexcept { return false; }
  /// [any] Their time is over: what waits of them is answered UNAVAILABLE, and nothing new is taken.
  virtual void end_sequences() noexcept {}
};

/// The levels of a queue: 1, which is served first, to `count`.
struct PriorityLevels {
  uint64_t count = 0;     ///< 0: it has none
  uint64_t standard = 0;  ///< of requests that name none, or one that there is not
};

/// What a model's configuration asks of its scheduler.
struct SchedulingDemand {
  std::string_view config;    ///< serialized inference.ModelConfig, final
  std::string_view kind;      ///< one of kSchedulerKinds, as the fields of the configuration say
  PriorityLevels priorities;  ///< of `dynamic_batching`; none without it
};

/// The kinds that fields of the configuration ask for: neither batching nor sequences, `dynamic_batching`,
/// `sequence_batching` of one or the other strategy, `ensemble_scheduling`.
inline constexpr std::string_view kSchedulerKinds[] = {"default", "dynamic", "sequence_direct",
                                                       "sequence_oldest", "ensemble"};

/// How well a scheduler serves a model. Of several the most fit one does; more than kFits says who is made for
/// just such configurations.
enum Fitness : uint32_t {
  kDoesNotFit = 0,   ///< answers would be other ones
  kFitsIfNamed = 1,  ///< a model that names it
  kStandsIn = 2,     ///< answers are right, and something is missing that the log tells
  kFits = 16,
};

/// Whether it is one of kSchedulerKinds.
constexpr bool is_asked_for(std::string_view kind) noexcept {
  for (std::string_view known : kSchedulerKinds) {
    if (kind == known) return true;
  }
  return false;
}

/// What the kind of a provider alone says. Requests without sequences are answered alike by "default" and
/// "dynamic", one for itself; the other kinds change what is answered, and have no substitute. A kind that no
/// field asks for serves whoever names it.
constexpr uint32_t fitness_of_kind(std::string_view kind, std::string_view demanded) noexcept {
  if (kind == demanded) return kFits;
  if (kind == "default" && demanded == "dynamic") return kStandsIn;
  if (kind == "dynamic" && demanded == "default") return kFitsIfNamed;
  return is_asked_for(kind) ? kDoesNotFit : kFitsIfNamed;
}

/// Service "atoll.scheduler/1". Models are served by the provider whose instance name their configuration has
/// in its parameter "scheduler" (`parameters { key: "scheduler" value { string_value: "lifo" } }`); those
/// that name none, by the one that is most fit (serves()), the one of the highest rank if there are several.
/// Loaded models follow providers that come, are replaced, or go.
class SchedulerProvider {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.scheduler/1";

  /// What it is, in error texts and for serves(): one of kSchedulerKinds, or a text of its own ("lifo").
  /// Constant. [any]
  virtual std::string_view kind() const noexcept = 0;
  /// [worker] Destroying the scheduler joins its threads; only when in_flight() is 0. The instances may have
  /// another scheduler at the same time, while a model moves from one to the other. Never null.
  /// Errors: INVALID_ARGUMENT the configuration; UNIMPLEMENTED it asks for what this one does not do.
  virtual Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context) noexcept = 0;

  /// How well it serves such a model: a Fitness, or more than kFits. Asked for every model that is loaded when a
  /// scheduler comes or goes, with locks held: it looks at the demand and at nothing else. [any]
  virtual uint32_t serves(const SchedulingDemand& demand) const noexcept {
    return fitness_of_kind(kind(), demand.kind);
  }
  /// The levels of the queue that it makes for such a model, for those who have to know a request's priority
  /// before it is in the queue. [worker]
  virtual PriorityLevels priorities(const SchedulingDemand& demand) const noexcept {
    return demand.priorities;
  }

 protected:
  ~SchedulerProvider() = default;
};

}  // namespace atl
