/// ONNX Runtime as a backend.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "atoll/backend/backend.h"
#include "backends/onnxruntime/environment.h"
#include "backends/onnxruntime/onnx_model.h"
#include "backends/onnxruntime/session_settings.h"

namespace atl::ort {

class OnnxBackend final : public Backend {
 public:
  /// Before any model is loaded. \param context  outlive every model
  void open(const BackendContext& context, const SessionDefaults& defaults) noexcept {
    context_ = context;
    defaults_ = defaults;
  }
  /// That of the context, which may come later than the rest. Not while a model is loaded; traits() may be asked meanwhile.
  void set_environment(Environment* environment) noexcept { context_.environment = environment; }

  BackendTraits traits() const noexcept override;
  Result<std::string> complete_config(const ModelSource& source) noexcept override;
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override;

 private:
  Result<std::optional<GpuSettings>> gpu_settings_for(const inference::ModelConfig& config) const;
  Result<FirstSession> open_first(const inference::ModelConfig& config, const OnnxSessionSettings& settings,
                                  std::optional<GpuSettings>& gpu_settings, const OnnxFile& file) const;

  BackendContext context_;
  SessionDefaults defaults_;
};

}  // namespace atl::ort
