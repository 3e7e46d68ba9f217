/// Which model is in a folder that SageMaker has unpacked.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "atoll/core/status.h"

namespace atl::frontends::sagemaker {

struct ModelFolder {
  std::filesystem::path repository;  ///< has the model's folder in it
  std::string directory;             ///< the model's folder
};

/// The folder itself is the model if it has a config.pbtxt; else the only folder in it, or of several the only one whose
/// configuration is an ensemble's. [worker]
/// \param url   as SageMaker says it  \param root  it has to lie below this folder; links are followed first
/// Errors: INVALID_ARGUMENT it is no folder there, or which model is meant cannot be told.
Result<ModelFolder> find_model_folder(const std::string& url, const std::filesystem::path& root);

/// The names of the folders in a folder, sorted. [worker] \param error  set if it cannot be read to its end
std::vector<std::string> folders_in(const std::filesystem::path& folder, std::error_code& error);

}  // namespace atl::frontends::sagemaker
