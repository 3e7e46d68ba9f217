/// What a model can be asked for, by the names of its tensors.
#pragma once

#include <string_view>

#include "atoll/models/model.h"

namespace atl::frontends::openai {

enum class Role { kNone, kText, kEmbedding };

/// kText: BYTES "text_input" to BYTES "text_output"; kEmbedding: BYTES "text_input" to floating point "embedding". A model
/// that needs other inputs than those this plugin can give has no role.
Role role_of(const ModelInfo& model) noexcept;

// Names of tensors: those of Triton's vLLM backend.
inline constexpr std::string_view kTextInput = "text_input";
inline constexpr std::string_view kMessages = "messages";  ///< BYTES: the messages of a chat, as JSON
inline constexpr std::string_view kSamplingParameters = "sampling_parameters";  ///< BYTES: a JSON object
inline constexpr std::string_view kStream = "stream";                           ///< BOOL
inline constexpr std::string_view kExcludeInput = "exclude_input_in_output";    ///< BOOL
inline constexpr std::string_view kReturnInputTokens = "return_num_input_tokens";
inline constexpr std::string_view kReturnOutputTokens = "return_num_output_tokens";
inline constexpr std::string_view kReturnFinishReason = "return_finish_reason";
inline constexpr std::string_view kTextOutput = "text_output";
inline constexpr std::string_view kEmbedding = "embedding";
inline constexpr std::string_view kFinishReason = "finish_reason";    ///< BYTES: "stop", "length"
inline constexpr std::string_view kInputTokens = "num_input_tokens";  ///< an integer
inline constexpr std::string_view kOutputTokens = "num_output_tokens";

/// Null: the model has none of this name.
const TensorSpec* input_of(const ModelInfo& model, std::string_view name) noexcept;
const TensorSpec* output_of(const ModelInfo& model, std::string_view name) noexcept;

}  // namespace atl::frontends::openai
