/// Admission of executions: which model instances may execute at the same time, over all models.
///
/// The catalog adds an instance when it is loaded, before its first execution, and takes it away at its end.
/// Whoever runs batches on it asks before each execution and says when the execution has ended. Nothing asks
/// where no plugin provides this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "atoll/core/status.h"

namespace atl {

/// So many copies of a resource are held by each execution of an instance.
struct ExecutionResource {
  std::string name;
  uint32_t count = 0;
  bool global = false;  ///< of the server's one pool, not of the one of the instance's device
};

/// An instance, as admission sees it.
struct ExecutionDemand {
  std::string model;
  int64_t version = 0;
  std::string instance;                      ///< its name, "<group>_<n>"
  int32_t device_id = 0;                     ///< InstanceSpec::device_id
  uint32_t priority = 0;                     ///< 2 is given half the chances of 1; 0 counts as 1
  std::vector<ExecutionResource> resources;  ///< one entry a name and scope; empty: none are needed
};

/// Who waits for an admission.
class AdmissionListener {
 public:
  /// What ask() or ask_again() asked for has come. On the thread of whoever made it possible, which may hold
  /// locks of its own: hand the work to another thread and return, take no lock but for that, and do not call
  /// the AdmittedInstance.
  virtual void admitted(void* context) noexcept = 0;

 protected:
  ~AdmissionListener() = default;
};

/// One instance. [any], but one call at a time for one instance, withdraw(), insist() and turn() excepted. At
/// any moment it holds nothing, waits, or is admitted. Its destructor gives back what it holds; not while it
/// waits.
class AdmittedInstance {
 public:
  virtual ~AdmittedInstance() = default;
  /// Whether an execution holds anything. Constant.
  virtual bool holds_resources() const noexcept = 0;

  /// Asks for an execution. True: admitted. False: it waits, and the listener is told once, maybe before this
  /// returns, unless withdraw() is quicker.
  /// \param insists  it is admitted in any case, even beyond what there is: its caller may hold that, and
  ///                 waits for it (kCallerHoldsResources of a request)
  virtual bool ask(AdmissionListener& listener, void* context, bool insists) noexcept = 0;
  /// end(true) and ask() in one step, so that this instance and those that wait are compared as they are.
  virtual bool ask_again(AdmissionListener& listener, void* context, bool insists) noexcept = 0;
  /// What was admitted has ended. \param executed  false: it was not made use of, and does not count
  virtual void end(bool executed) noexcept = 0;
  /// Asks no more. True: the listener will not be told. False: the instance was not waiting, or is admitted;
  /// the listener has returned by then.
  virtual bool withdraw() noexcept = 0;
  /// If the instance waits, it is admitted now, as by ask() with `insists`.
  virtual void insist() noexcept = 0;
  /// Of the idle instances of a model the one with the lowest turn is to be asked for first. Grows with each
  /// execution by the priority.
  virtual uint64_t turn() const noexcept = 0;
};

/// Service "atoll.execution_admission/1".
class ExecutionAdmission {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.execution_admission/1";

  /// [worker] Never null. What it gives must end before the service is let go.
  /// Errors: INVALID_ARGUMENT the demand can never be met, or contradicts that of another instance.
  virtual Result<std::unique_ptr<AdmittedInstance>> add_instance(const ExecutionDemand& demand) noexcept = 0;

 protected:
  ~ExecutionAdmission() = default;
};

}  // namespace atl
