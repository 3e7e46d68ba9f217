/// One loaded Python model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "backends/python/calls/unknown_outputs.h"
#include "backends/python/model/instance_group.h"
#include "backends/python/model/model_program.h"
#include "backends/python/model/python_instance.h"
#include "backends/python/process/worker.h"
#include "backends/python/process/worker_metrics.h"

namespace atl::python {

class PythonModel final : public BackendModel {
 public:
  /// \param context  outlives the model \param program  how its workers are started
  PythonModel(const WorkerContext& context, ModelProgram program, const ModelSource& source,
              std::string config_json);

  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override;

 private:
  const WorkerContext context_;
  const ModelProgram program_;
  const std::string name_, directory_, config_json_;
  const int64_t version_;
  const bool decoupled_;
  const std::shared_ptr<WorkerCounts> counts_;
  UnknownOutputs outputs_;
  InstanceGroup group_;
};

}  // namespace atl::python
