#include "frontends/openai/chat.h"

#include <algorithm>
#include <iterator>

#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"

namespace atl::frontends::openai {
namespace {

constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool"};

/// Of the message at `where`. \returns nothing: `fields` has failed
std::optional<std::string> read_content(Fields& fields, const CheckedValue& message,
                                        const std::string& where) {
  const auto found = message.FindMember("content");
  if (found == message.MemberEnd() || found->value.IsNull()) return std::string();
  if (found->value.IsString()) return std::string(text_of(found->value));
  const auto refuse = [&](ApiError error) {
    fields.fail(std::move(error));
    return std::nullopt;
  };
  if (!found->value.IsArray())
    return refuse(wrong_field(where + ".content", "'content' has to be a string or a list of parts."));
  std::string text;
  for (const CheckedValue& part : found->value.GetArray()) {
    const bool has_type = part.IsObject() && part.HasMember("type") && part["type"].IsString();
    if (!has_type)
      return refuse(
          wrong_field(where + ".content", "A part of 'content' has to be an object with a 'type'."));
    const std::string_view type = text_of(part["type"]);
    if (type != "text") {
      return refuse(not_served(where + ".content",
                               cat("Parts of type '", type.substr(0, 32), "' are not served, only 'text'.")));
    }
    const auto words = part.FindMember("text");
    if (words == part.MemberEnd() || !words->value.IsString())
      return refuse(wrong_field(where + ".content", "A part of type 'text' has to have a string 'text'."));
    text += text_of(words->value);
  }
  return text;
}

}  // namespace

std::vector<ChatMessage> read_messages(Fields& fields) {
  const CheckedValue* const list = fields.find("messages");
  if (list == nullptr || !list->IsArray() || list->Empty()) {
    fields.fail(wrong_field("messages", "'messages' has to be a list of at least one message."));
    return {};
  }
  std::vector<ChatMessage> messages;
  for (const CheckedValue& message : list->GetArray()) {
    const std::string where = cat("messages[", messages.size(), "]");
    const bool has_role = message.IsObject() && message.HasMember("role") && message["role"].IsString();
    const std::string_view role = has_role ? text_of(message["role"]) : std::string_view();
    if (std::find(std::begin(kRoles), std::end(kRoles), role) == std::end(kRoles)) {
      fields.fail(
          wrong_field(where + ".role", "'role' has to be system, developer, user, assistant or tool."));
      return {};
    }
    if (message.HasMember("tool_calls") && !message["tool_calls"].IsNull()) {
      fields.fail(not_served(where + ".tool_calls", "Calls of tools are not served."));
      return {};
    }
    std::optional<std::string> content = read_content(fields, message, where);
    if (!content) return {};
    messages.push_back({std::string(role), std::move(*content)});
  }
  return messages;
}

std::string chat_text(const std::vector<ChatMessage>& messages) {
  std::string text;
  for (const ChatMessage& message : messages)
    text += cat("<|im_start|>", message.role, "\n", message.content, "<|im_end|>\n");
  return text + "<|im_start|>assistant\n";
}

std::string chat_json(const std::vector<ChatMessage>& messages) {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  write_array(json, messages, [&](const ChatMessage& message) {
    write_object(json, [&] {
      write_member(json, "role", message.role);
      write_member(json, "content", message.content);
    });
  });
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace atl::frontends::openai
