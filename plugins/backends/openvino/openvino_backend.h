/// OpenVINO as a backend.
#pragma once

#include <memory>
#include <string>

#include "atoll/backend/backend.h"
#include "atoll/core/host.h"
#include "backends/openvino/library/ov_library.h"
#include "backends/openvino/settings.h"

namespace atl::openvino {

struct OvBackendSettings {
  OvPlaces places;
  OvDefaults defaults;
  bool serves_tensorflow =
      false;  ///< models of TensorFlow's platforms, where no other backend is there for them
};

/// Opens OpenVINO with the first model, so that nobody else pays for it. [any]
class OpenVinoBackend final : public Backend {
 public:
  explicit OpenVinoBackend(Host& host) noexcept : host_(host) {}

  /// Before the first model. [control]
  void set(OvBackendSettings settings) { settings_ = std::move(settings); }

  BackendTraits traits() const noexcept override {
    return {.preferred_groups = {{InstanceKind::kCpu, 1, {}}}};
  }
  Result<std::string> complete_config(const ModelSource& source) noexcept override;
  /// Errors also: FAILED_PRECONDITION OpenVINO cannot be used, with the reason.
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override;
  Result<bool> serves(const ModelSource& source) noexcept override;

 private:
  Status open() noexcept;

  Host& host_;
  OvBackendSettings settings_;
};

}  // namespace atl::openvino
