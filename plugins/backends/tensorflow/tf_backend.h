/// TensorFlow as a backend, whether its library is there or not.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/clock.h"
#include "atoll/core/log.h"
#include "backends/tensorflow/tf_settings.h"

namespace atl::tensorflow {

/// Opens the library when the first model is loaded, so that nobody else pays for it; after a failure the next load tries again.
/// Configurations are completed without it. [any]
class TfBackend final : public Backend {
 public:
  /// \param clock, log  outlive every model
  TfBackend(const Clock& clock, Log& log) noexcept : clock_(clock), log_(log) {}
  /// Before any model is loaded. \param library_files  where the library may be
  void open(std::vector<std::string> library_files, const TfDefaults& defaults) {
    library_files_ = std::move(library_files);
    defaults_ = defaults;
  }

  BackendTraits traits() const noexcept override {
    return {.preferred_groups = {{InstanceKind::kCpu, 0, {}}}};
  }
  /// From the signatures of a SavedModel. A GraphDef has none: its configuration stays as it is.
  Result<std::string> complete_config(const ModelSource& source) noexcept override;
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override;

 private:
  const Clock& clock_;
  Log& log_;
  std::vector<std::string> library_files_;
  TfDefaults defaults_;
};

}  // namespace atl::tensorflow
