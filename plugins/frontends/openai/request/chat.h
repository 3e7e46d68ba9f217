/// The messages of a chat.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontends/openai/answer/answer_format.h"
#include "frontends/openai/request/fields.h"

namespace atl::frontends::openai {

struct ChatMessage {
  std::string role;
  std::string content;
  std::vector<ToolCall> calls;  ///< of the assistant
  std::string call_id;          ///< of a tool's answer
  std::string name;
};

/// Reads `messages`. Parts of text are joined. Errors: what is no chat; parts that are not text.
std::vector<ChatMessage> read_messages(Fields& fields);
/// Arguments of a call that stands in a request; empty ones are those of a call without any. Errors: they are no JSON object.
std::optional<ApiError> check_arguments(const std::string& where, std::string& arguments);

/// How the text of a chat ends: the assistant's answer begins; nothing more; the last message goes on.
enum class ChatEnd : uint32_t { kAnswer, kNothing, kOpen };
/// As text for a model that takes no messages: ChatML.
std::string chat_text(const std::vector<ChatMessage>& messages, ChatEnd end = ChatEnd::kAnswer);
/// As JSON for a model that takes messages: [{"role":...,"content":...}, ...], as OpenAI's API has them.
std::string chat_json(const std::vector<ChatMessage>& messages);

}  // namespace atl::frontends::openai
