/// The data flow of an ensemble: tensors and the steps between them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model_config.pb.h"

namespace atl::pbtxt {

/// Built step by step, then asked. Time and memory are linear in the size of the configuration; no recursion.
class EnsembleGraph {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Tensor {
    std::string name;
    uint32_t producer = kNone;        ///< step that writes it
    std::vector<uint32_t> consumers;  ///< steps that read it
    bool ready = false;               ///< set by propagate()
  };
  struct Step {
    std::vector<uint32_t> inputs;  ///< tensors, in the order of their names, each once
    std::vector<uint32_t> outputs;
  };

  /// Position of a tensor, kNone if no step names it.
  uint32_t find(const std::string& name) const;
  const Tensor& tensor(uint32_t index) const { return tensors_[index]; }
  uint32_t size() const { return static_cast<uint32_t>(tensors_.size()); }
  /// Positions in the order of the tensors' names.
  std::vector<uint32_t> by_name() const;

  /// Adds a step that reads the values of input_map and writes those of output_map. \returns the first tensor
  /// (by name) that an earlier step, or this one, writes already, kNone if there is none.
  uint32_t add_step(const inference::ModelEnsembling::Step& step);

  /// Marks `inputs` and all that can be computed from them as ready.
  void propagate(const std::vector<uint32_t>& inputs);

  /// After propagate(): a tensor that is not ready and that `tensor`, not ready itself, is computed from;
  /// where possible one that no other missing tensor explains. kNone if there is none but itself.
  uint32_t missing_ancestor(uint32_t tensor) const;

  /// After propagate(), of a tensor that is not ready: steps that wait for each other, each for the next one and
  /// the last one for the first, which keep it from being computed. Empty: something else does.
  std::vector<uint32_t> circle_above(uint32_t tensor) const;

 private:
  uint32_t intern(const std::string& name);

  std::map<std::string, uint32_t> index_;
  std::vector<Tensor> tensors_;
  std::vector<Step> steps_;
};

}  // namespace atl::pbtxt
