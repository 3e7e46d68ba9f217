/// Backends that are Python programs themselves: one model.py for all models that name the backend.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/log.h"
#include "atoll/core/status.h"

namespace atl::python {

struct BackendScript {
  std::string folder;       ///< of the backend: what else the program imports
  std::string file;         ///< model.py in it
  std::string environment;  ///< packed Python environment beside it; empty: none
};

/// Looks for <directory>/<backend>/model.py, in Triton's layout: the first of the directories that has it counts, and a shared object
/// libtriton_<backend>.so, wherever that may lie, comes before it. [worker]
class BackendScripts {
 public:
  /// \param own_name  of the plugin's instance: models of that backend bring programs of their own
  BackendScripts(std::string own_name, std::vector<std::string> directories)
      : own_name_(std::move(own_name)), directories_(std::move(directories)) {}

  /// Directories that are none are told in the log; they may come later.
  void check(Log& log) const;
  /// The program that runs the model. Nothing: it is the model's own, or no such backend is there.
  /// Errors: NOT_FOUND the backend's folder is there and holds no program; UNIMPLEMENTED it is a shared object; both are of use only where
  /// nobody else runs the model.
  Result<std::optional<BackendScript>> find(const ModelSource& source) const;

 private:
  std::optional<std::string> library_of(const ModelSource& source, const std::string& backend) const;

  const std::string own_name_;
  const std::vector<std::string> directories_;
};

}  // namespace atl::python
