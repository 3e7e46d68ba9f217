/// How one request's tokens are chosen, and when it ends: the JSON of its input `sampling_parameters`, with vLLM's names.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/status.h"
#include "backends/llamacpp/engine/token_engine.h"

namespace atl::llamacpp {

struct SamplingOptions {
  double temperature = 1;  ///< 0: always the most likely token
  double top_p = 1;
  double min_p = 0;
  int32_t top_k = 0;  ///< 0: any
  double presence_penalty = 0, frequency_penalty = 0;
  double repetition_penalty = 1;
  std::optional<uint64_t> seed = {};
  std::vector<std::pair<Token, float>> logit_bias = {};

  int32_t max_tokens = std::numeric_limits<int32_t>::max();  ///< the context is a limit, too
  int32_t min_tokens = 0;
  std::vector<std::string> stops = {};
  std::vector<Token> stop_tokens = {};
  bool ignore_eos = false;
  bool include_stop = false;
  bool skip_special_tokens = true;

  /// How many of the most likely tokens are told with each; nothing: no probabilities are asked for.
  std::optional<int32_t> logprobs = {};
  std::string grammar = {};      ///< GBNF; empty: none
  std::string json_schema = {};  ///< empty: none
  int64_t priority = 0;          ///< the lowest goes first

  bool is_greedy() const noexcept { return temperature == 0; }
};

/// \param json  an object; empty: all defaults
/// \param tokens  of the vocabulary, for checks of ids
/// Errors: INVALID_ARGUMENT names the field, what was found and what was expected.
Result<SamplingOptions> read_sampling_options(std::string_view json, int32_t tokens);

}  // namespace atl::llamacpp
