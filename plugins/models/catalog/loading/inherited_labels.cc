#include "models/catalog/loading/inherited_labels.h"

#include <string>
#include <vector>

#include "model_config.pb.h"

namespace atl::models {
namespace {

using Step = inference::ModelEnsembling::Step;

const std::string* output_that_feeds(const Step& step, const std::string& tensor) {
  for (const auto& [output, fed] : step.output_map()) {
    if (fed == tensor) return &output;
  }
  return nullptr;
}

std::vector<std::string> labels_of(const Model& model, const std::string& output) {
  for (const TensorSpec& spec : model.info().outputs) {
    if (spec.name == output) return spec.labels;
  }
  return {};
}

}  // namespace

void inherit_labels(const inference::ModelConfig& config, std::span<Model* const> members, ModelInfo* info) {
  for (TensorSpec& output : info->outputs) {
    if (!output.labels.empty()) continue;
    for (size_t i = 0; i < members.size(); ++i) {
      const Step& step = config.ensemble_scheduling().step(static_cast<int>(i));
      const std::string* source = output_that_feeds(step, output.name);
      if (source == nullptr) continue;
      output.labels = labels_of(*members[i], *source);
      break;  // a tensor is written by one step only
    }
  }
}

}  // namespace atl::models
