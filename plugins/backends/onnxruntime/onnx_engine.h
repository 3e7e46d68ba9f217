/// The backend as the server sees it, whether ONNX Runtime is there or not.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "atoll/backend/backend.h"
#include "atoll/core/host.h"
#include "atoll/core/metrics.h"
#include "backends/onnxruntime/environment.h"
#include "backends/onnxruntime/gpu_source.h"
#include "backends/onnxruntime/library/library_use.h"
#include "backends/onnxruntime/onnx_backend.h"
#include "backends/onnxruntime/scratch.h"

namespace atl::ort {

/// Opens ONNX Runtime when the plugin starts. Where none is found, the server serves its other models: each load here looks
/// again, and fails with what to do.
class OnnxEngine final : public Backend, public MetricSource, public EncryptedModels {
 public:
  explicit OnnxEngine(Host& host) noexcept : host_(host) {}

  /// \param places  where the library is looked for if the option `library` does not name it
  /// Errors: the library that the option names cannot be used, or the environment cannot be made. [control]
  Status start(LibraryPlaces places);
  /// After the last model; start() may follow. [control]
  void stop() noexcept;

  BackendTraits traits() const noexcept override { return backend_.traits(); }
  Result<std::string> complete_config(const ModelSource& source) noexcept override;
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override;
  void collect(MetricSink& sink) const noexcept override;

 private:
  Status start_parts();
  Status open(std::vector<std::string>& passed_over);
  Status open_for_load() noexcept;
  void report_use(const std::vector<std::string>& passed_over);

  Host& host_;
  LibraryPlaces places_;
  ScratchSource scratch_{host_};
  Followed<ModelFiles> model_files_{host_};
  std::mutex mutex_;  ///< for the next two, and for opening
  std::optional<OrtLibrary> library_;
  std::unique_ptr<Environment> environment_;
  std::string version_;  ///< of the library; does not change while is_open_
  std::atomic<bool> is_open_ = false;
  std::optional<GpuSource> gpus_;
  OnnxBackend backend_;
};

}  // namespace atl::ort
