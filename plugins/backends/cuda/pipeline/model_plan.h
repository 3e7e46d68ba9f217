/// What a model's configuration says of how it is run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "atoll/backend/batch_input.h"
#include "atoll/backend/batch_output.h"
#include "atoll/core/log.h"
#include "backends/cuda/code/code.h"
#include "backends/cuda/pipeline/pipeline.h"

namespace inference {
class ModelConfig;
}

namespace atl::cuda_backend {

struct InputPlan {
  std::string name;
  uint32_t slot = 0;  ///< in the pipeline's table
  DataType datatype = DataType::kInvalid;
  bool optional = false;
  bool ragged = false;       ///< one dimension: the elements of all requests
  int32_t batch_input = -1;  ///< place in ModelPlan::batch_inputs: not from requests; -1: from requests
};

struct OutputPlan {
  std::string name;
  uint32_t slot = 0;
  DataType datatype = DataType::kInvalid;
  bool is_state = false;                         ///< the sequence's next request gets it as an input
  std::optional<backends::BatchOutput> scatter;  ///< cut by an input's shapes instead of by batch sizes
};

/// A size of batch for which a graph is captured.
struct GraphSpec {
  int64_t batch = 1;   ///< 1 where the model does not batch
  int64_t lowest = 1;  ///< the smallest batch that may be rounded up to it
  std::map<std::string, std::vector<int64_t>, std::less<>>
      shapes;  ///< of inputs, without the batch dimension
};

struct RunSettings {
  int32_t priority = 0;  ///< of the streams
  bool busy_wait_events = false;
  bool output_copy_stream = false;
  bool eager_batching = false;  ///< inputs are copied while the batch before is computed
  bool pinned_inputs = true;
  bool pinned_outputs = true;
  std::vector<GraphSpec> graphs;  ///< ascending by batch
};

/// What all instances of a version share. Immutable.
struct ModelPlan {
  std::string model_name;
  bool decoupled = false;
  uint32_t max_batch_size = 0;
  std::vector<InputPlan> inputs;
  std::vector<OutputPlan> outputs;
  std::vector<backends::BatchInput> batch_inputs;
  RunSettings settings;
  Pipeline pipeline;
  CodeSource code;

  bool batches() const noexcept { return max_batch_size > 0; }
};

/// Reads the version's pipeline too. \param log  for what has no effect
/// Errors: INVALID_ARGUMENT the configuration or the files; NOT_FOUND a file is missing.
Result<ModelPlan> make_plan(const inference::ModelConfig& config, const ModelDescription& model,
                            const std::string& version_directory, Log& log) noexcept;

/// The part of it that needs no files.
RunSettings read_settings(const inference::ModelConfig& config);

}  // namespace atl::cuda_backend
