/// One loaded version of a TensorFlow model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/backend/batch_input.h"
#include "atoll/backend/batch_output.h"
#include "atoll/core/clock.h"
#include "backends/common/input_rules.h"
#include "backends/tensorflow/graph/tf_session.h"
#include "model_config.pb.h"

namespace atl::tensorflow {

/// An input of the signature as execution needs it.
struct TfInputPlan : backends::InputRule {
  TF_Output place{};
  int32_t batch_input = -1;  ///< position in TfModelPlan::batch_inputs: not from requests; -1: from requests
};

/// An output of the configuration as execution needs it.
struct TfOutputPlan {
  std::string name;
  DataType datatype = DataType::kInvalid;
  TF_Output place{};
  bool scalar = false;                           ///< the model gives rank 0 where the configuration says [1]
  bool state = false;                            ///< the sequence's next request gets it as an input
  std::optional<backends::BatchOutput> scatter;  ///< cut by an input's shapes instead of by batch sizes
};

/// What the instances of one version share. Immutable.
struct TfModelPlan {
  std::string model_name;
  bool batches = false;
  bool decoupled = false;
  std::vector<TfInputPlan> inputs;
  std::vector<TfOutputPlan> outputs;
  std::vector<backends::BatchInput> batch_inputs;
};

/// \param config  complete, and checked against the signature
/// Errors: INVALID_ARGUMENT a tensor of the signature is not in the graph; those of backends::batch_outputs_of().
Result<TfModelPlan> make_plan(const inference::ModelConfig& config, const TfSignature& signature,
                              const TfSession& session);

/// Holds the session that all instances share: it may run on several threads at once, so a second one would only double weights.
class TfModel final : public BackendModel {
 public:
  /// \param clock  outlives this  \param size_bytes  of the model's files
  TfModel(const Clock& clock, TfModelPlan plan, std::unique_ptr<TfSession> session, uint64_t size_bytes,
          bool gpu_instances_on_cpu) noexcept;
  /// Gives freed memory back to the system, of which TensorFlow leaves much with the allocator.
  ~TfModel() override;

  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override;
  /// The size of the model's files, which are mostly weights.
  std::vector<MemoryUsage> memory_usage() const noexcept override;

 private:
  const Clock& clock_;
  std::shared_ptr<const TfModelPlan> plan_;
  std::shared_ptr<TfSession> session_;
  const uint64_t size_bytes_;
  const bool gpu_instances_on_cpu_;
};

}  // namespace atl::tensorflow
