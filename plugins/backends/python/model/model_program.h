/// What is run for a model: interpreter, environment, the model's file.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/status.h"
#include "backends/python/model/backend_scripts.h"
#include "backends/python/model/model_settings.h"
#include "backends/python/process/packed_environments.h"
#include "backends/python/process/worker.h"

namespace atl::python {

struct ModelProgram {
  ModelSettings settings;
  ProcessSpec process;
  std::string
      cpus_library;  ///< what workers have preloaded that take all CPUs when they are ready; may be empty
  nlohmann::json message;    ///< what kAutoComplete and kInitialize have in common
  bool is_backends = false;  ///< not the model's own
  std::vector<std::string>
      run_files;  ///< what workers need to reach first: interpreter, worker, the model's program

  /// \param script  runs the model in the place of a file of its own
  /// \param python_folder  with atoll_worker in it \param packed  unpacks the environment, if that is an archive
  /// Errors: NOT_FOUND the model's file or the interpreter is missing.
  static Result<ModelProgram> find(ModelSettings settings, const std::optional<BackendScript>& script,
                                   const std::string& python_folder, PackedEnvironments& packed,
                                   const ModelSource& source);

  /// A failure of its workers, with the folder that keeps their user from what they run, if there is one.
  Status explained(Status failure) const;
  /// \param name  of the instance \param cores  its own; empty: those of the settings
  WorkerSpec worker(const std::string& name, std::span<const uint32_t> cores = {}) const;
};

}  // namespace atl::python
