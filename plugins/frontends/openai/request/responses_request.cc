#include "frontends/openai/request/responses_request.h"

#include <utility>
#include <vector>

#include "atoll/core/text.h"
#include "frontends/openai/request/body.h"
#include "frontends/openai/request/chat.h"
#include "frontends/openai/request/sampling.h"
#include "frontends/openai/request/tools.h"

namespace atl::frontends::openai {
namespace {

constexpr std::string_view kOfResponses[] = {"model",
                                             "input",
                                             "instructions",
                                             "max_output_tokens",
                                             "stream",
                                             "stream_options",
                                             "tools",
                                             "tool_choice",
                                             "parallel_tool_calls",
                                             "text",
                                             "reasoning",
                                             "include",
                                             "top_logprobs",
                                             "previous_response_id",
                                             "conversation",
                                             "background",
                                             "prompt",
                                             "truncation",
                                             "max_tool_calls",
                                             "chat_template_kwargs",
                                             "stop"};
constexpr std::string_view kIgnoredByResponses[] = {"store",
                                                    "metadata",
                                                    "user",
                                                    "service_tier",
                                                    "prompt_cache_key",
                                                    "safety_identifier",
                                                    "prompt_cache_retention"};
/// What needs state that this server does not keep, or work that goes on without its client.
constexpr const char* kNeedsState[] = {"previous_response_id", "conversation", "background", "prompt"};

/// Text, or parts of text, of an item. \returns nothing: `fields` has failed
std::optional<std::string> read_parts(Fields& fields, const CheckedValue& item, const char* name,
                                      const std::string& where) {
  const auto found = item.FindMember(name);
  if (found == item.MemberEnd() || found->value.IsNull()) return std::string();
  if (found->value.IsString()) return std::string(text_of(found->value));
  const auto refuse = [&](ApiError error) {
    fields.fail(std::move(error));
    return std::nullopt;
  };
  const std::string at = cat(where, ".", name);
  if (!found->value.IsArray())
    return refuse(wrong_field(at, cat("'", name, "' has to be a string or a list of parts.")));
  std::string text;
  for (const CheckedValue& part : found->value.GetArray()) {
    const std::string_view type = part.IsObject() ? text_member(part, "type") : std::string_view();
    if (type != "input_text" && type != "output_text" && type != "text" && type != "refusal")
      return refuse(
          not_served(at, cat("Parts of type '", type.substr(0, 32), "' are not served, only texts.")));
    text += text_member(part, type == "refusal" ? "refusal" : "text");
  }
  return text;
}

/// One item of `input`, as a message or a part of one.
void read_item(Fields& fields, const CheckedValue& item, const std::string& where,
               std::vector<ChatMessage>& messages) {
  if (!item.IsObject()) return fields.fail(wrong_field(where, "An item of 'input' has to be an object."));
  const std::string_view type = text_member(item, "type");
  if (type == "function_call") {
    ToolCall call{std::string(text_member(item, "call_id")), std::string(text_member(item, "name")),
                  std::string(text_member(item, "arguments"))};
    if (call.name.empty()) return fields.fail(wrong_field(where + ".name", "A call has to have a 'name'."));
    if (auto wrong = check_arguments(where + ".arguments", call.arguments))
      return fields.fail(std::move(*wrong));
    // Calls belong to the message of the assistant before them.
    if (messages.empty() || messages.back().role != "assistant")
      messages.push_back({"assistant", {}, {}, {}, {}});
    messages.back().calls.push_back(std::move(call));
    return;
  }
  if (type == "function_call_output") {
    std::optional<std::string> output = read_parts(fields, item, "output", where);
    if (output)
      messages.push_back({"tool", std::move(*output), {}, std::string(text_member(item, "call_id")), {}});
    return;
  }
  // The model's thoughts are not given back to it.
  if (type == "reasoning") return;
  if (!type.empty() && type != "message")
    return fields.fail(
        not_served(where + ".type", cat("Items of type '", type.substr(0, 32), "' are not served.")));
  const std::string_view role = text_member(item, "role");
  if (role != "user" && role != "assistant" && role != "system" && role != "developer")
    return fields.fail(
        wrong_field(where + ".role", "'role' has to be user, assistant, system or developer."));
  std::optional<std::string> content = read_parts(fields, item, "content", where);
  if (content) messages.push_back({std::string(role), std::move(*content), {}, {}, {}});
}

void read_input(Fields& fields, GenerationRequest& chat, ResponseEcho& echo) {
  std::vector<ChatMessage> messages;
  if (const std::string_view instructions = fields.text("instructions"); !instructions.empty()) {
    messages.push_back({"system", std::string(instructions), {}, {}, {}});
    echo.instructions = json_of(*fields.find("instructions"));
  }
  const CheckedValue* const input = fields.find("input");
  if (input != nullptr && input->IsString()) {
    messages.push_back({"user", std::string(text_of(*input)), {}, {}, {}});
  } else if (input != nullptr && input->IsArray() && !input->Empty()) {
    for (rapidjson::SizeType i = 0; i < input->Size() && !fields.failure(); ++i)
      read_item(fields, (*input)[i], cat("input[", i, "]"), messages);
  } else {
    fields.fail(wrong_field("input", "'input' has to be a string or a list of at least one item."));
  }
  chat.prompts = {{chat_text(messages), {}, false}};
  chat.messages = chat_json(messages);
}

void read_more(Fields& fields, GenerationRequest& chat, ResponseEcho& echo) {
  if (const CheckedValue* text = fields.find("text"); text != nullptr && text->IsObject()) {
    Fields inner(*text);
    if (const CheckedValue* format = inner.find("format"); format != nullptr) {
      read_format(fields, *format, "text.format", chat);
      echo.format = json_of(*format);
    }
  }
  if (const CheckedValue* reasoning = fields.find("reasoning");
      reasoning != nullptr && reasoning->IsObject()) {
    Fields inner(*reasoning);
    if (!inner.text("effort").empty()) {
      echo.effort = json_of(*inner.find("effort"));
      chat.chat_options.push_back({"reasoning_effort", echo.effort, true});
    }
  }
  if (const CheckedValue* more = fields.find("chat_template_kwargs"); more != nullptr && more->IsObject())
    chat.chat_options.push_back({"chat_template_kwargs", json_of(*more), more->ObjectEmpty()});
  if (const CheckedValue* include = fields.find("include"); include != nullptr && include->IsArray()) {
    for (const CheckedValue& one : include->GetArray()) {
      if (one.IsString() && text_of(one) == "message.output_text.logprobs") chat.logprobs = 0;
    }
  }
  const auto alternatives = fields.integer("top_logprobs", 0, 20);
  if (alternatives.value_or(0) != 0) chat.logprobs = alternatives;
  for (const auto& [name, json] : {std::pair("temperature", &echo.temperature),
                                   {"top_p", &echo.top_p},
                                   {"tools", &echo.tools},
                                   {"tool_choice", &echo.tool_choice},
                                   {"metadata", &echo.metadata},
                                   {"user", &echo.user}}) {
    if (fields.has(name)) *json = json_of(*fields.find(name));
  }
  echo.is_parallel = chat.tools.is_parallel;
  if (chat.max_tokens) echo.max_output_tokens = cat(*chat.max_tokens);
}

}  // namespace

std::variant<ResponsesRequest, ApiError> read_responses(std::string_view body) {
  CheckedDocument document;
  if (auto failure = parse_body(body, document)) return std::move(*failure);
  Fields fields(document);
  ResponsesRequest request;
  GenerationRequest& chat = request.chat;
  chat.is_chat = true;
  chat.model = read_model(fields);
  read_input(fields, chat, request.echo);
  read_tools(fields, chat, nullptr);
  chat.stream = fields.flag("stream", false);
  read_stops(fields, "stop", chat);
  read_sampling(fields, chat);
  chat.max_tokens_field = "max_output_tokens";
  chat.max_tokens = fields.integer("max_output_tokens", 1, kMostTokens);
  read_more(fields, chat, request.echo);
  for (const char* name : kNeedsState) {
    const CheckedValue* const value = fields.find(name);
    if (value != nullptr && !value->IsFalse())
      fields.fail(not_served(name, cat("'", name,
                                       "' is not served: this server keeps no responses. Send the "
                                       "whole conversation in 'input'.")));
  }
  if (chat.has_tools() && !chat.format_field.empty())
    fields.fail(wrong_field(chat.format_field, "'text.format' does not go together with 'tools'."));
  for (const auto& member : document.GetObject()) {
    const std::string_view name = text_of(member.name);
    const bool is_known = is_among(name, kOfResponses) || is_among(name, kIgnoredByResponses) ||
                          is_among(name, sampling_fields());
    chat.unknown_fields += is_known ? 0 : 1;
  }
  if (fields.failure()) return std::move(*fields.failure());
  return request;
}

}  // namespace atl::frontends::openai
