/// Names of a language model's tensors; most are those of Triton's vLLM backend.
#pragma once

#include <cstddef>
#include <string_view>

namespace atl::llamacpp {

/// JSON in a tensor is refused if it has more levels than this, which are more than any chat, schema or list of options has: what
/// writes JSON, and llama.cpp's reader of it, are recursive.
inline constexpr size_t kJsonDepthMax = 64;

// Inputs.
inline constexpr std::string_view kTextInput = "text_input";
inline constexpr std::string_view kMessages = "messages";
inline constexpr std::string_view kChatOptions = "chat_options";
inline constexpr std::string_view kTokenIds = "token_ids";
inline constexpr std::string_view kStream = "stream";
inline constexpr std::string_view kSamplingParameters = "sampling_parameters";
inline constexpr std::string_view kExcludeInput = "exclude_input_in_output";
inline constexpr std::string_view kReturnFinishReason = "return_finish_reason";
inline constexpr std::string_view kReturnInputTokens = "return_num_input_tokens";
inline constexpr std::string_view kReturnOutputTokens = "return_num_output_tokens";
inline constexpr std::string_view kReturnLogprobs = "return_logprobs";
inline constexpr std::string_view kQuery = "query";
inline constexpr std::string_view kDocuments = "documents";

// Outputs.
inline constexpr std::string_view kTextOutput = "text_output";
inline constexpr std::string_view kFinishReason = "finish_reason";
inline constexpr std::string_view kInputTokens = "num_input_tokens";
inline constexpr std::string_view kOutputTokens = "num_output_tokens";
inline constexpr std::string_view kCachedTokens = "num_cached_tokens";
inline constexpr std::string_view kLogprobs = "logprobs";
inline constexpr std::string_view kPromptTokenIds = "prompt_token_ids";
inline constexpr std::string_view kPromptText = "prompt_text";
inline constexpr std::string_view kEmbedding = "embedding";
inline constexpr std::string_view kScores = "scores";

}  // namespace atl::llamacpp
