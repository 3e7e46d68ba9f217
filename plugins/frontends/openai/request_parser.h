/// From the bodies of calls to what is to be done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "frontends/openai/api_error.h"

namespace atl::frontends::openai {

/// A field of sampling as it goes to the model.
struct SamplingField {
  std::string name;
  std::string json;         ///< its value
  bool is_default = false;  ///< a model that cannot be told of it does the same
};

/// Of /v1/completions and /v1/chat/completions.
struct CompletionRequest {
  bool is_chat = false;
  std::string model;
  std::vector<std::string> prompts;
  std::string messages;  ///< of a chat, as JSON
  uint32_t n = 1;        ///< choices for each prompt
  bool stream = false;
  bool include_usage = false;  ///< in a stream
  std::vector<std::string> stops;
  std::optional<int64_t> max_tokens;
  std::string max_tokens_field;  ///< its name in this request
  std::optional<int64_t> seed;
  std::vector<SamplingField> sampling;  ///< without seed
  uint32_t unknown_fields = 0;

  /// The JSON object for the model's input. \param choice  each has a seed of its own
  std::string sampling_json(uint32_t choice) const;
  /// The first field that a model without such an input could not follow; null: none
  const SamplingField* first_to_follow() const noexcept;
};

/// Of /v1/embeddings.
struct EmbeddingRequest {
  std::string model;
  std::vector<std::string> texts;
  bool is_base64 = false;
  int64_t dimensions = 0;  ///< 0: all that there are
  uint32_t unknown_fields = 0;
};

inline constexpr uint32_t kChoicesMax = 128;  ///< of one call, over all prompts
inline constexpr uint32_t kTextsMax = 2'048;  ///< of one call for embeddings

std::variant<CompletionRequest, ApiError> read_completion(std::string_view body, bool is_chat);
std::variant<EmbeddingRequest, ApiError> read_embedding(std::string_view body);

}  // namespace atl::frontends::openai
