/// What a model can be asked for, by the names of its tensors and by what its configuration says.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/models/model.h"
#include "frontends/openai/answer/tool_parser.h"

namespace atl::frontends::openai {

/// kChat and kCompletion: BYTES "text_input" to BYTES "text_output"; kEmbedding: "text_input" to floating point "embedding";
/// kRerank: "query" and "documents" to "scores"; kClassify: "text_input" to "label" and "score".
enum class Role : uint32_t { kChat = 1, kCompletion = 2, kEmbedding = 4, kRerank = 8, kClassify = 16 };

// Names of tensors: those of Triton's vLLM backend, as far as it has them.
inline constexpr std::string_view kTextInput = "text_input";
inline constexpr std::string_view kTokenIds = "token_ids";        ///< INT32: the prompt in place of a text
inline constexpr std::string_view kMessages = "messages";         ///< BYTES: the messages of a chat, as JSON
inline constexpr std::string_view kChatOptions = "chat_options";  ///< BYTES: a JSON object
inline constexpr std::string_view kSamplingParameters = "sampling_parameters";  ///< BYTES: a JSON object
inline constexpr std::string_view kQuery = "query";                             ///< BYTES
inline constexpr std::string_view kDocuments = "documents";                     ///< BYTES, any number
inline constexpr std::string_view kStream = "stream";                           ///< BOOL
inline constexpr std::string_view kExcludeInput = "exclude_input_in_output";    ///< BOOL
inline constexpr std::string_view kReturnInputTokens = "return_num_input_tokens";
inline constexpr std::string_view kReturnOutputTokens = "return_num_output_tokens";
inline constexpr std::string_view kReturnFinishReason = "return_finish_reason";
inline constexpr std::string_view kReturnLogprobs = "return_logprobs";
inline constexpr std::string_view kTextOutput = "text_output";
inline constexpr std::string_view kEmbedding = "embedding";
inline constexpr std::string_view kScores = "scores";                 ///< FP32: one for each document
inline constexpr std::string_view kLabel = "label";                   ///< BYTES
inline constexpr std::string_view kScore = "score";                   ///< FP32: one for each label
inline constexpr std::string_view kFinishReason = "finish_reason";    ///< BYTES: "stop", "length"
inline constexpr std::string_view kInputTokens = "num_input_tokens";  ///< an integer
inline constexpr std::string_view kOutputTokens = "num_output_tokens";
inline constexpr std::string_view kCachedTokens = "num_cached_tokens";
inline constexpr std::string_view kLogprobs = "logprobs";           ///< BYTES: a JSON list
inline constexpr std::string_view kPromptIds = "prompt_token_ids";  ///< INT32: what tokenizing gives
inline constexpr std::string_view kPromptText = "prompt_text";      ///< BYTES: what the ids stand for

/// A model as this plugin sees it. The parameter "openai" of its configuration is a list with commas: names of roles ("chat",
/// "completion", "embedding", "rerank", "classify", "none"), which leave out all others, and pairs NAME=TENSOR: the model has
/// another name for a tensor. The parameter "tool_call_parser" says how it writes calls of tools.
class ModelProfile {
 public:
  /// \param fallback  how calls of tools are written where the model does not say
  ModelProfile(const ModelInfo& model, ToolSyntax fallback);

  bool serves(Role role) const noexcept { return (roles_ & static_cast<uint32_t>(role)) != 0; }
  bool has_role() const noexcept { return roles_ != 0; }
  ToolSyntax tool_syntax() const noexcept { return tool_syntax_; }
  /// The model's own name for a tensor.
  std::string_view own_name(std::string_view name) const noexcept;
  /// Null: the model has none of this name. \param model  the one that this is the profile of
  const TensorSpec* input(const ModelInfo& model, std::string_view name) const noexcept;
  const TensorSpec* output(const ModelInfo& model, std::string_view name) const noexcept;
  /// What is wrong with the parameters; empty: nothing.
  const std::string& problem() const noexcept { return problem_; }

 private:
  /// \returns the roles that are named; 0: none is
  uint32_t read_parameter(const std::string& text);
  bool can(const ModelInfo& model, Role role) const noexcept;

  uint32_t roles_ = 0;
  ToolSyntax tool_syntax_;
  std::vector<std::pair<std::string, std::string>> own_names_;
  std::string problem_;
};

/// The profiles of the models that are served: each is made once. [any]
class ModelProfiles {
 public:
  explicit ModelProfiles(ToolSyntax fallback) : fallback_(fallback) {}

  std::shared_ptr<const ModelProfile> of(const ModelInfo& model);

 private:
  const ToolSyntax fallback_;
  std::shared_mutex mutex_;
  std::map<uint64_t, std::shared_ptr<const ModelProfile>> by_load_;
};

/// "chat" and so on.
std::string_view role_name(Role role) noexcept;
/// What a model has to have for the role.
std::string_view role_needs(Role role) noexcept;

}  // namespace atl::frontends::openai
