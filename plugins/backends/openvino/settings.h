/// How a model is to be run: what its configuration and the plugin's options say.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "model_config.pb.h"

namespace atl::openvino {

/// What holds for models that do not say, from the plugin's options.
struct OvDefaults {
  uint32_t threads = 1;         ///< that a model's runs share
  std::string cache_directory;  ///< of compiled models; empty: none is kept
  bool allows_extensions = false;
  uint32_t shapes_kept = 256;  ///< see OvModelPlan
};

struct OvSettings {
  std::vector<std::pair<std::string, std::string>> properties;  ///< of the compiled model
  std::string extension;         ///< file with operations of the model's own; empty: none
  bool pads_batches = false;     ///< every run has max_batch_size rows
  bool reshapes_inputs = false;  ///< inputs get the dimensions of the configuration
  uint32_t shapes_kept = 256;
};

/// \param model_directory  which holds what a model brings along
/// Errors: INVALID_ARGUMENT a parameter that is none of its values, with both; UNIMPLEMENTED a device other than the CPU.
Result<OvSettings> read_settings(const inference::ModelConfig& config, const std::string& model_directory,
                                 const OvDefaults& defaults, Log& log) noexcept;

}  // namespace atl::openvino
