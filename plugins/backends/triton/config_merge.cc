#include "backends/triton/config_merge.h"

namespace atl::triton {
namespace {

using inference::ModelConfig;

void take_scheduling(const ModelConfig& given, ModelConfig* config) {
  switch (given.scheduling_choice_case()) {
    case ModelConfig::kDynamicBatching:
      *config->mutable_dynamic_batching() = given.dynamic_batching();
      break;
    case ModelConfig::kSequenceBatching:
      *config->mutable_sequence_batching() = given.sequence_batching();
      break;
    case ModelConfig::kEnsembleScheduling:
      *config->mutable_ensemble_scheduling() = given.ensemble_scheduling();
      break;
    case ModelConfig::SCHEDULING_CHOICE_NOT_SET:
      break;
  }
}

}  // namespace

Status merge_config(const ModelConfig& given, ModelConfig* config) {
  const auto wanted = given.scheduling_choice_case(), there = config->scheduling_choice_case();
  if (there == ModelConfig::SCHEDULING_CHOICE_NOT_SET) {
    take_scheduling(given, config);
  } else if (wanted != ModelConfig::SCHEDULING_CHOICE_NOT_SET && wanted != there) {
    return internal_error("Cannot update scheduling choice from ", static_cast<int>(there), " to ",
                          static_cast<int>(wanted), " when auto-completing.");
  }
  config->set_max_batch_size(given.max_batch_size());
  *config->mutable_input() = given.input();
  *config->mutable_output() = given.output();
  if (given.has_model_transaction_policy()) {
    config->mutable_model_transaction_policy()->set_decoupled(given.model_transaction_policy().decoupled());
  }
  return {};
}

}  // namespace atl::triton
