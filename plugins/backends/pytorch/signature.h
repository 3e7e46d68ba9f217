/// How the names of a configuration belong to the arguments and results of a TorchScript model's forward(), whose file says
/// little: the conventions of Triton's PyTorch backend.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "backends/common/config_view.h"
#include "backends/common/input_rules.h"

namespace atl::pytorch {

/// How forward() takes its inputs.
enum class InputForm : uint8_t {
  kArguments,   ///< each is an argument
  kDictionary,  ///< one argument, Dict[str, Tensor]; the inputs' names are the keys
  kList,        ///< one argument, List[Tensor], for more than one input
};

struct TorchInputPlan {
  backends::InputRule rule;
  uint32_t position = 0;  ///< of the argument, self not counted, or in the list
  bool texts = false;     ///< List[str]
};

struct TorchOutputPlan {
  std::string name;
  DataType datatype = DataType::kInvalid;
  uint32_t position = 0;  ///< among the results; of a dictionary the name counts
  bool scalar = false;    ///< [1] in the configuration of a model without batches may be of rank 0
  bool state = false;     ///< the sequence's next request gets it as an input
};

/// What the instances of one version share. Immutable.
struct TorchModelPlan {
  std::string model_name;
  bool batches = false;
  bool decoupled = false;
  InputForm form = InputForm::kArguments;
  /// For each argument of forward(), self not counted, what stands in where a request leaves it out: its default, or
  /// None. Of kArguments.
  std::vector<c10::IValue> stand_ins;
  std::vector<TorchInputPlan> inputs;
  std::vector<TorchOutputPlan> outputs;
};

/// \param module  its forward() is looked at
/// Errors: INVALID_ARGUMENT names, numbers or types that do not fit, with what was found and what was expected.
Result<TorchModelPlan> make_plan(const inference::ModelConfig& config, const torch::jit::Module& module);

}  // namespace atl::pytorch
