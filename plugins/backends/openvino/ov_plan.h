/// What a model's instances know of it: its tensors as the configuration and the model say them.
#pragma once

#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "backends/common/input_rules.h"
#include "backends/openvino/settings.h"
#include "backends/openvino/signature.h"
#include "model_config.pb.h"

namespace atl::openvino {

struct OvInputPlan : backends::InputRule {
  std::string port;  ///< OvPortInfo::port
  OvElementType element_type = 0;
  bool has_rank = true;
  std::vector<int64_t> dims;  ///< as the model declares them, with the batch dimension; -1: variable
};

struct OvOutputPlan {
  std::string name;
  std::string port;  ///< OvPortInfo::port
  DataType datatype = DataType::kInvalid;
  bool scalar = false;  ///< the model gives rank 0 where the configuration says [1]
  bool state = false;   ///< the sequence's next request gets it as an input
};

/// What the instances of one version share. Immutable.
struct OvModelPlan {
  std::string model_name;
  bool batches = false;
  bool decoupled = false;
  uint32_t padded_rows = 0;  ///< rows of every run, where batches are padded; 0: as many as the batch has
  bool has_state = false;    ///< the model keeps values from run to run
  bool is_variable = false;  ///< some input's shape changes from run to run
  std::vector<OvInputPlan> inputs;
  std::vector<OvOutputPlan> outputs;
};

/// Gives the model's inputs the dimensions that the settings ask for, checks the configuration against it and plans its tensors.
/// Errors: INVALID_ARGUMENT the configuration contradicts the model, or asks for what this backend does not have.
Result<OvModelPlan> make_plan(const inference::ModelConfig& config, const OvSettings& settings,
                              const OvModel& model) noexcept;

}  // namespace atl::openvino
