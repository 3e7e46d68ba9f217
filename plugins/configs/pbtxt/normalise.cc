#include "configs/pbtxt/normalise.h"

namespace atl::pbtxt {

namespace {
constexpr uint64_t kDefaultSequenceIdleUs = 1'000'000;
}

void normalise(inference::ModelConfig* config) {
  if (!config->has_version_policy()) config->mutable_version_policy()->mutable_latest()->set_num_versions(1);

  bool batches = config->max_batch_size() > 0;
  if (config->has_dynamic_batching()) {
    auto* batching = config->mutable_dynamic_batching();
    if (batches && batching->preferred_batch_size().empty()) {
      batching->add_preferred_batch_size(config->max_batch_size());
    }
  }
  if (config->has_sequence_batching()) {
    auto* batching = config->mutable_sequence_batching();
    if (batching->max_sequence_idle_microseconds() == 0) {
      batching->set_max_sequence_idle_microseconds(kDefaultSequenceIdleUs);
    }
    if (batching->has_oldest() && batches && batching->oldest().preferred_batch_size().empty()) {
      batching->mutable_oldest()->add_preferred_batch_size(config->max_batch_size());
    }
  }
  if (!config->has_ensemble_scheduling()) {
    auto* optimization = config->mutable_optimization();
    if (!optimization->has_input_pinned_memory()) {
      optimization->mutable_input_pinned_memory()->set_enable(true);
    }
    if (!optimization->has_output_pinned_memory()) {
      optimization->mutable_output_pinned_memory()->set_enable(true);
    }
  }
}

}  // namespace atl::pbtxt
