/// How a model wants to be run: what its configuration's parameters and optimization say, in the names of Triton's TensorFlow backend.
#pragma once

#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "backends/common/config_view.h"

namespace atl::tensorflow {

/// For models that do not say.
struct TfDefaults {
  int intra_op_threads = 1;
  int inter_op_threads = -1;
  bool gpu_instances_on_cpu = false;  ///< instances of KIND_GPU are not refused
};

struct TfSettings {
  int intra_op_threads = 1;   ///< that work on one operation
  int inter_op_threads = -1;  ///< that run operations side by side; -1: none, the calling thread runs them
  bool per_session_threads = false;  ///< else the first session of the process decides for all
  bool soft_placement = true;
  int jit_level = 0;                 ///< of XLA, as ConfigProto has it: -1 off, 0 TensorFlow's default, 1, 2
  std::string graph_tag;             ///< empty: not said
  std::string signature;             ///< empty: not said
  std::string init_operations_file;  ///< empty: none
  std::vector<std::string> operation_files;  ///< libraries of operations, as configured

  /// What TF_SetConfig() takes: a ConfigProto, without the GPUs.
  std::string config_bytes() const;
};

/// Warns of what has no effect. Errors: INVALID_ARGUMENT names the parameter or field, what was found and what was expected.
Result<TfSettings> read_tf_settings(const inference::ModelConfig& config, const ModelSource& source,
                                    const TfDefaults& defaults, Log& log) noexcept;

/// The path of a library of operations, which is code of the model: only a file inside its folder is one.
/// \param name  absolute, or from the model's folder on
/// Errors: INVALID_ARGUMENT, NOT_FOUND.
Result<std::string> find_operation_file(const std::string& model_directory, const std::string& name) noexcept;

/// The names in {"init_ops": [...]} of a file in the version's folder, or else in the model's. Errors: INVALID_ARGUMENT, NOT_FOUND.
Result<std::vector<std::string>> read_init_operations(const ModelSource& source,
                                                      const std::string& file) noexcept;

}  // namespace atl::tensorflow
