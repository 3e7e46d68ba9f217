/// From a path of the command line to reports of the models in it.
#pragma once

#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "problem.h"

namespace atl::config {

struct PathOptions {
  bool strict = false;
  std::string config_name = {};  ///< configs/<name>.pbtxt is preferred, as with the repository's option
  std::vector<std::string> linked_paths = {};  ///< directories that links may lead into, likewise
};

/// \param path  a repository, a model's directory, or its configuration file. A directory is a model's if it
/// has config.pbtxt, or a version directory. Reports are ordered by name. Errors: NOT_FOUND, INVALID_ARGUMENT
/// and UNAVAILABLE the path cannot be read.
Result<std::vector<ModelReport>> check_path(const std::string& path, const PathOptions& options);

}  // namespace atl::config
