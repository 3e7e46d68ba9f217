/// The data flow of an ensemble, resolved against the models that serve its steps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/models/model.h"

namespace inference {
class ModelConfig;
}

namespace atl::ensemble {

inline constexpr uint32_t kNone = UINT32_MAX;

/// Never changes once it is built; names are NUL-terminated and live as long as it does.
struct StepGraph {
  /// An ensemble tensor: an input of the ensemble, or what one step writes.
  struct Tensor {
    std::string name;
    uint32_t producer = kNone;        ///< step; kNone: it is an input of the ensemble
    uint32_t output = kNone;          ///< position among the ensemble's outputs; kNone: it is none of them
    std::vector<uint32_t> consumers;  ///< steps, each as often as it reads the tensor
    /// Of the last decoupled step above it: such tensors have a value for each of its responses. 0: there is none.
    uint32_t branch = 0;
    bool batched = false;  ///< its values have the batch dimension
    /// A value may come ahead of its bytes: whoever reads it is a step whose member waits for them on the device.
    bool device_ordered = false;
  };
  struct StepInput {
    std::string name;  ///< of the member
    uint32_t tensor = kNone;
    const TensorSpec* spec = nullptr;
  };
  struct StepOutput {
    std::string name;  ///< of the member
    uint32_t tensor = kNone;
  };
  struct Step {
    Model* model = nullptr;
    std::vector<StepInput> inputs;    ///< by name
    std::vector<StepOutput> outputs;  ///< by name
    bool decoupled = false;
    bool batches = false;   ///< the member's tensors have the batch dimension
    bool iterates = false;  ///< its inputs are of a branch: it runs for each value of them
  };

  std::string ensemble;
  bool decoupled = false;
  uint32_t max_inflight_requests = 0;  ///< in each step; 0: any number
  std::vector<Tensor> tensors;
  std::vector<Step> steps;
  std::vector<uint32_t> inputs;   ///< tensors, in the order of the ensemble's inputs
  std::vector<uint32_t> outputs;  ///< likewise

  /// "in ensemble 'e', "
  std::string failure_prefix() const { return "in ensemble '" + ensemble + "', "; }
};

/// \param members  one for each step; outlive the graph
/// Errors: INVALID_ARGUMENT the configuration contradicts itself or the members.
Result<StepGraph> make_graph(const inference::ModelConfig& config, std::span<Model* const> members);

}  // namespace atl::ensemble
