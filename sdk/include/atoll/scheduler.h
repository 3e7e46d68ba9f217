/// Schedulers turn requests into batches for model instances. A provider makes one Scheduler a loaded model
/// version.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/backend.h"
#include "atoll/clock.h"
#include "atoll/execution_admission.h"
#include "atoll/executor.h"
#include "atoll/request.h"
#include "atoll/statistics.h"

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
  /// Of each of the instances, in their order; empty: every execution is admitted at once.
  std::span<AdmittedInstance* const> admissions;
};

/// [request] unless said otherwise.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// Takes a validated request, or refuses it and leaves it with the caller. May run it on this very thread.
  /// Errors: UNAVAILABLE queue full, or "Server is stopping, scheduler for model has stopped accepting new
  /// inference requests".
  virtual Status enqueue(Request& request) noexcept = 0;
  /// [any] No new requests from now on (of running sequences excepted); what is queued is still served.
  virtual void stop_accepting() noexcept = 0;
  /// [any] Requests queued or inside an execute() that has not returned. Backends that answer later are not
  /// counted: the frontend's ModelRef keeps the model for those.
  virtual uint64_t in_flight() const noexcept = 0;
};

/// Service "atoll.scheduler/1".
class SchedulerProvider {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.scheduler/1";

  /// Which scheduling choice it serves: "default", "dynamic", "sequence_direct", "sequence_oldest",
  /// "ensemble". [any]
  virtual std::string_view kind() const noexcept = 0;
  /// [worker] Destroying the scheduler joins its threads; only when in_flight() is 0.
  virtual Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context) noexcept = 0;

 protected:
  ~SchedulerProvider() = default;
};

}  // namespace atl
