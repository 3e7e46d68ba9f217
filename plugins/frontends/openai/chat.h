/// The messages of a chat.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontends/openai/fields.h"

namespace atl::frontends::openai {

struct ChatMessage {
  std::string role;
  std::string content;
};

/// Reads `messages`. Parts of text are joined. Errors: what is no chat; parts that are not text, calls of tools.
std::vector<ChatMessage> read_messages(Fields& fields);
/// As text for a model that takes no messages: ChatML, ended by the beginning of the assistant's answer.
std::string chat_text(const std::vector<ChatMessage>& messages);
/// As JSON for a model that takes messages: [{"role":...,"content":...}, ...]
std::string chat_json(const std::vector<ChatMessage>& messages);

}  // namespace atl::frontends::openai
