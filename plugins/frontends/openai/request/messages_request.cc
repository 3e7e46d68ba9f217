#include "frontends/openai/request/messages_request.h"

#include <utility>
#include <vector>

#include "atoll/core/text.h"
#include "frontends/openai/request/body.h"
#include "frontends/openai/request/chat.h"
#include "frontends/openai/request/sampling.h"
#include "frontends/openai/request/tools.h"

namespace atl::frontends::openai {
namespace {

constexpr std::string_view kOfMessages[] = {"model",          "messages", "system", "max_tokens",
                                            "stop_sequences", "stream",   "tools",  "tool_choice"};
constexpr std::string_view kIgnoredByMessages[] = {"metadata",          "service_tier",  "thinking",
                                                   "inference_geo",     "cache_control", "output_config",
                                                   "context_management"};
constexpr const char* kNeedsMore[] = {"container", "mcp_servers"};

/// A text, or blocks of text. \returns nothing: `fields` has failed
std::optional<std::string> read_text_blocks(Fields& fields, const CheckedValue& value,
                                            const std::string& where) {
  if (value.IsNull()) return std::string();
  if (value.IsString()) return std::string(text_of(value));
  std::string text;
  bool is_right = value.IsArray();
  for (rapidjson::SizeType i = 0; is_right && i < value.Size(); ++i) {
    const std::string_view type = value[i].IsObject() ? text_member(value[i], "type") : std::string_view();
    if (type != "text") {
      fields.fail(not_served(
          where, cat("Blocks of type '", type.substr(0, 32), "' are not served here, only texts.")));
      return std::nullopt;
    }
    text += text_member(value[i], "text");
  }
  if (is_right) return text;
  fields.fail(wrong_field(where, "The content has to be a string or a list of blocks."));
  return std::nullopt;
}

/// One block of a message, which may become a message of its own.
void read_block(Fields& fields, const CheckedValue& block, const std::string& where, const std::string& role,
                std::vector<ChatMessage>& messages) {
  const std::string_view type = block.IsObject() ? text_member(block, "type") : std::string_view();
  // Texts and calls of one message stand in one; an answer of a tool is a message.
  const auto message = [&]() -> ChatMessage& {
    if (messages.empty() || messages.back().role != role) messages.push_back({role, {}, {}, {}, {}});
    return messages.back();
  };
  if (type == "text") {
    message().content += text_member(block, "text");
  } else if (type == "tool_use" && role == "assistant") {
    const auto input = block.FindMember("input");
    const bool has_input = input != block.MemberEnd() && input->value.IsObject();
    const std::string_view name = text_member(block, "name");
    if (name.empty() || !has_input)
      return fields.fail(wrong_field(where, "A block tool_use has to have a 'name' and an object 'input'."));
    message().calls.push_back(
        {std::string(text_member(block, "id")), std::string(name), json_of(input->value)});
  } else if (type == "tool_result" && role == "user") {
    const auto content = block.FindMember("content");
    std::optional<std::string> text = std::string();
    if (content != block.MemberEnd()) text = read_text_blocks(fields, content->value, where + ".content");
    if (!text) return;
    messages.push_back({"tool", std::move(*text), {}, std::string(text_member(block, "tool_use_id")), {}});
  } else if (type != "thinking" && type != "redacted_thinking") {
    fields.fail(not_served(where, cat("Blocks of type '", type.substr(0, 32), "' are not served here.")));
  }
}

void read_blocks(Fields& fields, GenerationRequest& chat) {
  std::vector<ChatMessage> messages;
  if (const CheckedValue* system = fields.find("system"); system != nullptr) {
    std::optional<std::string> text = read_text_blocks(fields, *system, "system");
    if (text) messages.push_back({"system", std::move(*text), {}, {}, {}});
  }
  const CheckedValue* const list = fields.find("messages");
  if (list == nullptr || !list->IsArray() || list->Empty())
    return fields.fail(wrong_field("messages", "messages: has to be a list of at least one message."));
  for (rapidjson::SizeType i = 0; i < list->Size() && !fields.failure(); ++i) {
    const CheckedValue& message = (*list)[i];
    const std::string where = cat("messages.", i);
    const std::string role(message.IsObject() ? text_member(message, "role") : std::string_view());
    if (role != "user" && role != "assistant")
      return fields.fail(wrong_field(where, cat(where, ".role: has to be user or assistant.")));
    const auto content = message.FindMember("content");
    if (content == message.MemberEnd() || (!content->value.IsString() && !content->value.IsArray()))
      return fields.fail(wrong_field(where, cat(where, ".content: has to be a string or a list of blocks.")));
    const size_t before = messages.size();
    if (content->value.IsString()) {
      messages.push_back({role, std::string(text_of(content->value)), {}, {}, {}});
      continue;
    }
    std::vector<ChatMessage> own;
    for (rapidjson::SizeType n = 0; n < content->value.Size() && !fields.failure(); ++n)
      read_block(fields, content->value[n], cat(where, ".content.", n), role, own);
    for (ChatMessage& one : own) messages.push_back(std::move(one));
    if (messages.size() == before) messages.push_back({role, {}, {}, {}, {}});
  }
  // An answer that the client has begun goes on.
  const bool is_open =
      !messages.empty() && messages.back().role == "assistant" && messages.back().calls.empty();
  if (is_open) {
    chat.chat_options.push_back({"add_generation_prompt", "false"});
    chat.chat_options.push_back({"continue_final_message", "true"});
  }
  chat.prompts = {{chat_text(messages, is_open ? ChatEnd::kOpen : ChatEnd::kAnswer), {}, false}};
  chat.messages = chat_json(messages);
}

std::optional<ToolChoice> read_message_choice(Fields& fields, GenerationRequest& chat) {
  const CheckedValue* const choice = fields.find("tool_choice");
  if (choice == nullptr) return std::nullopt;
  const std::string_view type = choice->IsObject() ? text_member(*choice, "type") : std::string_view();
  if (choice->IsObject()) {
    const auto one = choice->FindMember("disable_parallel_tool_use");
    chat.tools.is_parallel = one == choice->MemberEnd() || !one->value.IsTrue();
  }
  if (type == "auto") return ToolChoice{ToolUse::Choice::kAuto, {}};
  if (type == "none") return ToolChoice{ToolUse::Choice::kNone, {}};
  if (type == "any") return ToolChoice{ToolUse::Choice::kRequired, {}};
  if (type == "tool") return ToolChoice{ToolUse::Choice::kNamed, std::string(text_member(*choice, "name"))};
  fields.fail(wrong_field("tool_choice", "tool_choice.type: has to be auto, any, tool or none."));
  return std::nullopt;
}

}  // namespace

std::variant<GenerationRequest, ApiError> read_message(std::string_view body, bool counts) {
  CheckedDocument document;
  if (auto failure = parse_body(body, document)) return std::move(*failure);
  Fields fields(document);
  GenerationRequest chat;
  chat.is_chat = true;
  chat.model = read_model(fields);
  read_blocks(fields, chat);
  const std::vector<ToolDefinition> definitions = read_definitions(fields, nullptr, "input_schema");
  const std::optional<ToolChoice> choice = read_message_choice(fields, chat);
  if (!fields.failure()) use_tools(fields, definitions, choice, chat);
  chat.max_tokens_field = "max_tokens";
  chat.max_tokens = fields.integer("max_tokens", 1, kMostTokens);
  if (!counts && !fields.has("max_tokens"))
    fields.fail(
        wrong_field("max_tokens", "max_tokens: has to be there: how many tokens the answer may have."));
  chat.stream = fields.flag("stream", false);
  read_stops(fields, "stop_sequences", chat);
  read_sampling(fields, chat);
  for (const char* name : kNeedsMore) {
    const CheckedValue* const value = fields.find(name);
    if (value != nullptr && !(value->IsArray() && value->Empty()))
      fields.fail(not_served(name, cat(name, ": is not served.")));
  }
  for (const auto& member : document.GetObject()) {
    const std::string_view name = text_of(member.name);
    const bool is_known = is_among(name, kOfMessages) || is_among(name, kIgnoredByMessages) ||
                          is_among(name, sampling_fields());
    chat.unknown_fields += is_known ? 0 : 1;
  }
  if (fields.failure()) return std::move(*fields.failure());
  return chat;
}

}  // namespace atl::frontends::openai
