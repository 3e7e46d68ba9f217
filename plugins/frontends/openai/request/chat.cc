#include "frontends/openai/request/chat.h"

#include <algorithm>
#include <iterator>

#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"

namespace atl::frontends::openai {
namespace {

constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool"};

/// Of the message at `where`. \returns nothing: `fields` has failed
std::optional<std::string> read_content(Fields& fields, const CheckedValue& message, std::string_view role,
                                        const std::string& where) {
  const auto refuse = [&](ApiError error) {
    fields.fail(std::move(error));
    return std::nullopt;
  };
  const auto found = message.FindMember("content");
  if (found == message.MemberEnd() || found->value.IsNull()) {
    // An assistant may have done nothing but call tools.
    if (role == "assistant") return std::string();
    return refuse(
        wrong_field(where + ".content", cat("A message of the role ", role, " has to have a 'content'.")));
  }
  if (found->value.IsString()) return std::string(text_of(found->value));
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

/// Of the message at `where`. \returns false: `fields` has failed
bool read_calls(Fields& fields, const CheckedValue& message, const std::string& where,
                std::vector<ToolCall>& calls) {
  const auto found = message.FindMember("tool_calls");
  if (found == message.MemberEnd() || found->value.IsNull()) return true;
  if (found->value.IsArray()) {
    for (const CheckedValue& one : found->value.GetArray()) {
      const std::string at = cat(where, ".tool_calls[", calls.size(), "]");
      const bool has_function = one.IsObject() && one.HasMember("function") && one["function"].IsObject();
      ToolCall& call = calls.emplace_back();
      if (has_function) {
        const CheckedValue& function = one["function"];
        call = {std::string(text_member(one, "id")), std::string(text_member(function, "name")),
                std::string(text_member(function, "arguments"))};
      }
      if (call.name.empty()) {
        fields.fail(wrong_field(at, "A call of a tool has to have a 'function' with a 'name'."));
        return false;
      }
      const auto arguments = one["function"].FindMember("arguments");
      const bool is_text = arguments == one["function"].MemberEnd() || arguments->value.IsString();
      if (!is_text) {
        fields.fail(
            wrong_field(at + ".function.arguments", "'arguments' has to be a string that holds JSON."));
        return false;
      }
      if (auto wrong = check_arguments(at + ".function.arguments", call.arguments)) {
        fields.fail(std::move(*wrong));
        return false;
      }
    }
    return true;
  }
  fields.fail(wrong_field(where + ".tool_calls", "'tool_calls' has to be a list."));
  return false;
}

}  // namespace

std::optional<ApiError> check_arguments(const std::string& where, std::string& arguments) {
  if (arguments.empty()) arguments = "{}";
  CheckedDocument document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(arguments.data(),
                                                                                         arguments.size());
  if (!document.HasParseError() && document.IsObject()) return std::nullopt;
  return wrong_field(where, "'arguments' has to be a string that holds a JSON object.");
}

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
    ChatMessage& read = messages.emplace_back();
    read.role = role;
    std::optional<std::string> content = read_content(fields, message, role, where);
    if (!content || !read_calls(fields, message, where, read.calls)) return {};
    read.content = std::move(*content);
    for (const auto& [name, text] : {std::pair("tool_call_id", &read.call_id), {"name", &read.name}}) {
      const auto found = message.FindMember(name);
      if (found != message.MemberEnd() && found->value.IsString()) *text = text_of(found->value);
    }
  }
  return messages;
}

std::string chat_text(const std::vector<ChatMessage>& messages, ChatEnd end) {
  std::string text;
  for (const ChatMessage& message : messages) {
    text += cat("<|im_start|>", message.role, "\n", message.content);
    for (const ToolCall& call : message.calls) {
      CheckedBuffer name;
      CheckedWriter json(name);
      write_text(json, call.name);
      text += cat("\n<tool_call>\n{\"name\": ", std::string_view(name.GetString(), name.GetSize()),
                  ", \"arguments\": ", call.arguments, "}\n</tool_call>");
    }
    if (end != ChatEnd::kOpen || &message != &messages.back()) text += "<|im_end|>\n";
  }
  return end == ChatEnd::kAnswer ? text + "<|im_start|>assistant\n" : text;
}

std::string chat_json(const std::vector<ChatMessage>& messages) {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  write_array(json, messages, [&](const ChatMessage& message) {
    write_object(json, [&] {
      write_member(json, "role", message.role);
      write_member(json, "content", message.content);
      if (!message.name.empty()) write_member(json, "name", message.name);
      if (!message.call_id.empty()) write_member(json, "tool_call_id", message.call_id);
      if (message.calls.empty()) return;
      write_array(json, "tool_calls", message.calls, [&](const ToolCall& call) {
        write_object(json, [&] {
          write_member(json, "id", call.id);
          write_member(json, "type", "function");
          write_object(json, "function", [&] {
            write_member(json, "name", call.name);
            write_member(json, "arguments", call.arguments);
          });
        });
      });
    });
  });
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace atl::frontends::openai
