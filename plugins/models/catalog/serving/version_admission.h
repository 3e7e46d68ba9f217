/// What admission plugins know of the instances of one version.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "atoll/core/registry.h"
#include "atoll/request/execution_admission.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// Empty where no plugin rules over executions. Ends after the scheduler and before the instances.
class VersionAdmission {
 public:
  /// Adds the instances that execute, as the configuration's groups say, to the admission plugins, if there
  /// are any. On failure none is added. Errors: those of ExecutionAdmission::add_instance.
  static Result<VersionAdmission> create(Registry& registry, const inference::ModelConfig& config,
                                         int64_t version);

  /// Of the instances that execute, in their order; empty: all are admitted.
  std::span<AdmittedInstance* const> instances() const noexcept { return instances_; }
  /// Whose services they are.
  const std::vector<std::string>& plugins() const noexcept { return plugins_; }
  /// Lets go of everything.
  void reset() noexcept;

 private:
  Status add(const ExecutionDemand& demand);

  std::vector<Service<ExecutionAdmission>> services_;
  std::vector<std::string> plugins_;
  std::vector<std::unique_ptr<AdmittedInstance>> owned_;
  std::vector<AdmittedInstance*> instances_;
};

/// One execution outside of a scheduler: admitted when the constructor returns, however long that takes, and
/// ended by the destructor. [worker]
class AdmittedExecution {
 public:
  /// \param instance  null: nothing is asked
  explicit AdmittedExecution(AdmittedInstance* instance) noexcept;
  AdmittedExecution(const AdmittedExecution&) = delete;
  AdmittedExecution& operator=(const AdmittedExecution&) = delete;
  ~AdmittedExecution() {
    if (instance_ != nullptr) instance_->end(true);
  }

 private:
  AdmittedInstance* instance_;
};

}  // namespace atl::models
