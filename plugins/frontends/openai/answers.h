/// The JSON of answers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atl::frontends::openai {

/// What all parts of one answer have in common.
struct AnswerHead {
  std::string id;         ///< "chatcmpl-..." or "cmpl-..."
  std::string model;      ///< as the client named it
  int64_t created_s = 0;  ///< Unix time
  bool is_chat = false;
};

struct Usage {
  uint64_t prompt_tokens = 0;
  uint64_t completion_tokens = 0;
};

struct FinishedChoice {
  std::string text;
  std::string finish_reason;
};

struct ListedModel {
  std::string id;
  int64_t created_s = 0;
};

/// "chatcmpl-" or the like, and a part that no other answer of this process has.
std::string new_id(std::string_view prefix);

std::string completion_json(const AnswerHead& head, std::span<const FinishedChoice> choices,
                            const Usage& usage);

// Events of a stream, each "data: ...\n\n". With `has_usage` all but the last say "usage":null.
/// The first of a choice of a chat.
std::string role_event(const AnswerHead& head, uint32_t choice, bool has_usage);
std::string text_event(const AnswerHead& head, uint32_t choice, std::string_view text, bool has_usage);
std::string finish_event(const AnswerHead& head, uint32_t choice, std::string_view reason, bool has_usage);
std::string usage_event(const AnswerHead& head, const Usage& usage);
inline constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";

std::string embeddings_json(std::string_view model, std::span<const std::vector<float>> embeddings,
                            bool is_base64);
std::string model_json(const ListedModel& model);
std::string models_json(std::span<const ListedModel> models);

}  // namespace atl::frontends::openai
