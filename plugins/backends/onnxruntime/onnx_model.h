/// One loaded ONNX model version.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/backend/batch_input.h"
#include "atoll/backend/batch_output.h"
#include "atoll/core/clock.h"
#include "backends/common/input_rules.h"
#include "backends/onnxruntime/environment.h"
#include "backends/onnxruntime/files/onnx_file.h"
#include "backends/onnxruntime/gpu_settings.h"
#include "backends/onnxruntime/session_settings.h"
#include "backends/onnxruntime/signature.h"
#include "model_config.pb.h"

namespace atl::ort {

class GpuSource;
class ScratchSource;

/// An input of the session as execution needs it.
struct OnnxInputPlan : backends::InputRule {
  int32_t batch_input = -1;  ///< position in ModelPlan::batch_inputs: not from requests; -1: from requests
};

/// An output of the session as execution needs it.
struct OnnxOutputPlan {
  std::string name;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> dims;    ///< as the model declares, with the batch dimension; -1: variable
  bool fixed = false;           ///< every dimension but that of the batch is known before the run
  bool scalar = false;          ///< the model gives rank 0 where the configuration says [1]
  bool state = false;           ///< the sequence's next request gets it as an input
  bool ends_iteration = false;  ///< false in it: the request goes back to its scheduler
  std::optional<backends::BatchOutput> scatter;  ///< cut by an input's shapes instead of by batch sizes
};

/// What the instances of one version share. Immutable.
struct OnnxModelPlan {
  std::string model_name;
  bool batches = false;
  bool decoupled = false;
  std::vector<OnnxInputPlan> inputs;    ///< in the order of the session's signature
  std::vector<OnnxOutputPlan> outputs;  ///< in the order of the session's signature
  std::vector<backends::BatchInput> batch_inputs;
};

/// \param config  complete, and checked against the signature
/// Errors: those of backends::batch_outputs_of(); INVALID_ARGUMENT `iteration_end_output` names no output that
/// could tell it, or in a model whose scheduler does not take requests back.
Result<OnnxModelPlan> make_plan(const inference::ModelConfig& config, const Signature& signature);

/// What a backend gives its models; outlives them.
struct BackendContext {
  const Environment* environment = nullptr;
  Clock* clock = nullptr;
  ScratchSource* scratch = nullptr;  ///< null: the heap
  uint64_t scratch_keep_bytes = 0;
  GpuSource* gpus = nullptr;                    ///< null: models run on the CPU
  Followed<ModelFiles>* model_files = nullptr;  ///< null: encrypted models are refused
};

/// The GPU that a session is for.
struct GpuPlace {
  const GpuSettings& settings;
  int32_t device = 0;
};

/// \param log_id  what the session's log lines begin with
/// \param place   null: the CPU
/// Errors: those of make_session(); RESOURCE_EXHAUSTED no thread to be had.
Result<Handle<OrtSession>> open_session(const BackendContext& context, const OnnxSessionSettings& settings,
                                        const std::string& log_id, const OnnxFile& file,
                                        const GpuPlace* place = nullptr) noexcept;

/// A session on a GPU. Where the model cannot be run by graphs, the log says why, and the settings have none from then on.
/// Errors: as open_session()
Result<Handle<OrtSession>> open_on_gpu(const BackendContext& context, const OnnxSessionSettings& settings,
                                       const std::string& log_id, const OnnxFile& file,
                                       GpuSettings& gpu_settings, int32_t device) noexcept;

/// The session that a model was loaded with, and for where it is.
struct FirstSession {
  Handle<OrtSession> session;
  std::optional<int32_t> device;  ///< nothing: the CPU
};

/// Holds the session that its instances on the CPU share. A session may run on several threads at once and keeps nothing
/// between runs, so a second one would only double weights and threads. On a GPU each instance has one, because a session
/// has one stream there.
class OnnxModel final : public BackendModel {
 public:
  OnnxModel(BackendContext context, OnnxModelPlan plan, OnnxSessionSettings settings,
            std::optional<GpuSettings> gpu_settings, OnnxFile file, FirstSession first) noexcept;

  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override;
  /// The size of the model's file, which is mostly weights, for each session of a GPU, and once for those of the CPU.
  std::vector<MemoryUsage> memory_usage() const noexcept override;

 private:
  Result<std::shared_ptr<OrtSession>> session_for_instance() noexcept;
  Result<std::shared_ptr<OrtSession>> session_on_gpu(int32_t device) noexcept;
  Result<std::unique_ptr<BackendInstance>> create_on_gpu(const InstanceSpec& spec) noexcept;
  Result<Handle<OrtRunOptions>> run_options() const noexcept;

  BackendContext context_;
  std::shared_ptr<const OnnxModelPlan> plan_;
  OnnxSessionSettings settings_;
  std::optional<GpuSettings> gpu_settings_;  ///< nothing: no instance is for a GPU
  const OnnxFile file_;
  std::shared_ptr<OrtSession> session_;  ///< null: on the CPU there is none, or an instance has it
  FirstSession first_on_gpu_;            ///< until an instance takes it
  mutable std::mutex mutex_;             ///< for the following
  bool on_cpu_ = false;
  std::map<int32_t, uint64_t> sessions_on_gpu_;  ///< how many, by device
};

}  // namespace atl::ort
