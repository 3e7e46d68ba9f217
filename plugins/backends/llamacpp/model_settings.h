/// The parameters of a model's configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "atoll/models/model_description.h"
#include "backends/llamacpp/engine/gguf_facts.h"

namespace atl::llamacpp {

struct LlamaSettings {
  int32_t context_tokens = 0;  ///< of one request
  int32_t memory_tokens = 0;   ///< of all requests
  int32_t sequences = 32;
  uint32_t queue_max = 512;
  int32_t threads = 1;
  int32_t step_tokens = 512;
  int64_t inter_token_target_us = 0;
  bool shares_prefixes = false;
  bool maps_file = false;
  Pooling pooling = Pooling::kNone;
};

/// \param default_threads  for a model that does not say
/// Errors: INVALID_ARGUMENT names the parameter, what was found and what was expected.
Result<LlamaSettings> read_llama_settings(const ModelDescription& model, const GgufFacts& facts,
                                          int64_t default_threads);

/// The parameter `pooling`, else what the file says.
Result<Pooling> pooling_of(const ModelDescription& model, const GgufFacts& facts);

}  // namespace atl::llamacpp
