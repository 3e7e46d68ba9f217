/// What a GGUF file says of its model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::llamacpp {

/// How the vectors of a text's tokens become one: llama.cpp's numbers.
enum class Pooling : int32_t { kNone = 0, kMean = 1, kCls = 2, kLast = 3, kRank = 4 };

/// Nothing of a configuration: of the file alone.
struct GgufFacts {
  std::string description;  ///< "llama 135M Q4_0"
  std::string architecture;
  int32_t context_tokens = 0;  ///< that the model was made for
  int32_t embedding_size = 0;
  int32_t vocabulary_size = 0;
  bool has_chat_template = false;
  Pooling pooling = Pooling::kNone;  ///< of a model for embeddings or reranking
  uint64_t weights_bytes = 0;
  uint64_t memory_bytes_per_token = 0;  ///< of what the engine keeps of each token, in half precision; about
  std::string unserved;                 ///< why this backend does not serve it; empty: it does
};

/// A line of JSON. Texts that are not UTF-8 are replaced.
std::string facts_json(const GgufFacts& facts);
/// Errors: INTERNAL what another process has written is no such line.
Result<GgufFacts> read_facts(std::string_view json);

}  // namespace atl::llamacpp
