/// What waits for the versions of models, and why, for those who operate the server. Service "atoll.model_queues/1", provided by
/// models/catalog, which asks the scheduler and the admission of a version.
///
///     Result<ModelQueue> queue = queues->describe("resnet", 1);
///     if (queue.ok() && queue.value().is_described) show(queue.value().queue, queue.value().shortages);
///
/// What is asked about one version is answered from what that version's parts keep anyhow: requests count nothing for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/execution_admission.h"
#include "atoll/request/scheduler.h"

namespace atl {

/// What waits for a version.
struct ModelQueue {
  /// False: its scheduler does not say, and the rest is empty. Of an ensemble the members' schedulers say what waits for them.
  bool is_described = false;
  QueueDescription queue;
  /// Of its instances that wait for admission; each resource once. Known to plugins of ExecutionAdmission::kShortagesMinor
  /// or later.
  std::vector<AdmissionShortage> shortages;
};

/// A version of a model, by its name.
struct DrainedVersion {
  std::string model;
  int64_t version = 0;
};

/// Service "atoll.model_queues/1". Names and versions are those of ModelCatalog::acquire(), whose failures each function
/// may return.
class ModelQueues {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.model_queues/1";

  /// What waits for a version. It holds up the version's requests for some microseconds (Scheduler::describe_queue()), so ask
  /// about those that somebody looks at. [any]
  virtual Result<ModelQueue> describe(std::string_view name, int64_t version) noexcept = 0;
  /// Takes the requests that wait when it is called, or as many of those that come meanwhile, out of the queue and answers them
  /// UNAVAILABLE. What executes goes on. [any]
  /// \param level  WaitingLevel::level; 0: all levels
  /// \returns how many were taken out
  /// Errors: UNIMPLEMENTED the version's scheduler cannot.
  virtual Result<uint64_t> cancel_waiting(std::string_view name, int64_t version,
                                          uint64_t level) noexcept = 0;
  /// With true: the version takes no new requests until this is called with false; what waits is served. A load
  /// that makes the version anew, or a scheduler's plugin that is replaced, ends it, too. [any]
  /// Errors: UNIMPLEMENTED the version's scheduler cannot.
  virtual Status set_draining(std::string_view name, int64_t version, bool draining) noexcept = 0;
  /// The versions that take no new requests because of set_draining(), by name and version. [any]
  virtual std::vector<DrainedVersion> draining() noexcept = 0;

 protected:
  ~ModelQueues() = default;
};

}  // namespace atl
