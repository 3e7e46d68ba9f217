/// What a client asks a language model for, whichever API it speaks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atl::frontends::openai {

/// A field as it goes to the model, in a JSON object.
struct PassedField {
  std::string name;
  std::string json;         ///< its value
  bool is_default = false;  ///< a model that cannot be told of it does the same
};
/// The fields as an object.
std::string object_of(const std::vector<PassedField>& fields);

/// A text, or the ids of its tokens.
struct Prompt {
  std::string text;
  std::vector<int32_t> ids;
  bool has_ids = false;
};

/// Which tools the answer may call.
struct ToolUse {
  enum class Choice : uint32_t { kNone, kAuto, kRequired, kNamed };
  Choice choice = Choice::kNone;
  std::vector<std::string> names;  ///< of kNamed: the only one
  bool is_parallel = true;         ///< several calls in one answer
  /// Of kRequired and kNamed: the JSON schema that the answer has to follow.
  std::string schema;
};

struct GenerationRequest {
  bool is_chat = false;
  std::string model;
  std::vector<Prompt> prompts;  ///< of a chat: one, its messages as ChatML
  std::string messages;         ///< of a chat, as JSON
  /// Of a chat, for its template, by the names of the model's input `chat_options`.
  std::vector<PassedField> chat_options;
  ToolUse tools;
  uint32_t n = 1;  ///< choices for each prompt
  bool stream = false;
  bool include_usage = false;  ///< in a stream
  std::vector<std::string> stops;
  bool includes_stop = false;  ///< the stop string stays in the text
  std::optional<int64_t> max_tokens;
  std::string max_tokens_field;  ///< its name in this request
  std::optional<int64_t> seed;
  /// How many alternatives of each token are wanted; nothing: no log probabilities.
  std::optional<int64_t> logprobs;
  std::vector<PassedField> sampling;  ///< the rest, by the names of the model's input `sampling_parameters`
  std::string format_field;           ///< of a grammar or schema in `sampling`; empty: there is none
  uint32_t unknown_fields = 0;

  bool has_tools() const noexcept { return tools.choice != ToolUse::Choice::kNone; }
  /// The JSON object for the model's input. \param choice  each has a seed of its own
  std::string sampling_json(uint32_t choice) const;
  /// The first field that a model without such an input could not follow; null: none
  static const PassedField* first_to_follow(const std::vector<PassedField>& fields) noexcept {
    const auto found =
        std::find_if(fields.begin(), fields.end(), [](const PassedField& one) { return !one.is_default; });
    return found == fields.end() ? nullptr : &*found;
  }
};

inline constexpr uint32_t kChoicesMax = 128;  ///< of one call, over all prompts

}  // namespace atl::frontends::openai
