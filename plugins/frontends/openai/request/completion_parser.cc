#include "frontends/openai/request/completion_parser.h"

#include <algorithm>
#include <vector>

#include "atoll/core/text.h"
#include "frontends/openai/request/body.h"
#include "frontends/openai/request/chat.h"
#include "frontends/openai/request/sampling.h"
#include "frontends/openai/request/tools.h"

namespace atl::frontends::openai {
namespace {

/// What other servers know and this one does not do. Refused unless the value says that it is not wanted.
constexpr std::string_view kNotServed[] = {
    "audio",
    "bad_words",
    "best_of",
    "echo",
    "functions",
    "function_call",
    "guided_choice",
    "guided_regex",
    "prediction",
    "prompt_logprobs",
    "structured_outputs",
    "suffix",
    "truncate_prompt_tokens",
    "use_beam_search",
    "web_search_options",
};

/// Accepted, and without effect here.
constexpr std::string_view kWithoutEffect[] = {
    "add_special_tokens", "cache_salt",   "metadata", "modalities", "prompt_cache_key",
    "safety_identifier",  "service_tier", "store",    "user",       "verbosity",
};
constexpr std::string_view kRead[] = {
    "model",
    "messages",
    "prompt",
    "n",
    "stream",
    "stream_options",
    "stop",
    "max_tokens",
    "max_completion_tokens",
    "logprobs",
    "top_logprobs",
    "tools",
    "tool_choice",
    "chat_template",
    "parallel_tool_calls",
    "reasoning_effort",
    "chat_template_kwargs",
    "add_generation_prompt",
    "continue_final_message",
};
/// What only a chat has, and a completion refuses.
constexpr const char* kOfChats[] = {"tools", "tool_choice", "top_logprobs"};

/// Whether the value says that the client does not want the field's effect.
bool is_unwanted(std::string_view name, const CheckedValue& value) {
  if (value.IsFalse() || (value.IsArray() && value.Empty())) return true;
  if (value.IsInt64() && (value.GetInt64() == 0 || (name == "best_of" && value.GetInt64() == 1))) return true;
  return value.IsString() &&
         (value.GetStringLength() == 0 || text_of(value) == "none" || text_of(value) == "auto");
}

void refuse_what_is_not_served(Fields& fields, bool is_chat) {
  const auto refuse = [&](const char* name, std::string_view why) {
    const CheckedValue* const value = fields.find(name);
    if (value != nullptr && !is_unwanted(name, *value))
      fields.fail(not_served(name, cat("'", name, "' ", why)));
  };
  for (const std::string_view name : kNotServed) refuse(name.data(), "is not served with this value.");
  for (const char* name : kOfChats) {
    if (!is_chat) refuse(name, "goes with chats only.");
  }
}

void read_stream(Fields& fields, GenerationRequest& request) {
  request.stream = fields.flag("stream", false);
  const CheckedValue* const options = fields.find("stream_options");
  if (options == nullptr) return;
  if (!request.stream)
    return fields.fail(wrong_field("stream_options", "'stream_options' goes with 'stream' only."));
  if (!options->IsObject())
    return fields.fail(wrong_field("stream_options", "'stream_options' has to be an object."));
  Fields inner(*options);
  request.include_usage = inner.flag("include_usage", false);
  if (inner.failure()) fields.fail(wrong_field("stream_options.include_usage", inner.failure()->message));
}

void read_logprobs(Fields& fields, GenerationRequest& request) {
  if (!request.is_chat) {
    const CheckedValue* const value = fields.find("logprobs");
    if (value != nullptr && !value->IsFalse()) request.logprobs = fields.integer("logprobs", 0, 5);
    return;
  }
  const bool is_wanted = fields.flag("logprobs", false);
  const auto alternatives = fields.integer("top_logprobs", 0, 20);
  if (alternatives.value_or(0) != 0 && !is_wanted)
    return fields.fail(wrong_field("top_logprobs", "'top_logprobs' goes with 'logprobs': true only."));
  if (is_wanted) request.logprobs = alternatives.value_or(0);
}

void read_template_options(Fields& fields, GenerationRequest& request) {
  const auto pass = [&](const char* name, bool is_default) {
    request.chat_options.push_back({name, json_of(*fields.find(name)), is_default});
  };
  for (const char* name : {"chat_template", "reasoning_effort"}) {
    // A hint that every model may leave aside.
    if (!fields.text(name).empty()) pass(name, std::string_view(name) == "reasoning_effort");
  }
  if (const CheckedValue* more = fields.find("chat_template_kwargs"); more != nullptr) {
    if (!more->IsObject())
      return fields.fail(wrong_field("chat_template_kwargs", "'chat_template_kwargs' has to be an object."));
    if (!more->ObjectEmpty()) pass("chat_template_kwargs", false);
  }
}

}  // namespace

void read_chat(Fields& fields, GenerationRequest& request) {
  std::vector<ChatMessage> messages = read_messages(fields);
  read_template_options(fields, request);
  const bool is_open = fields.flag("continue_final_message", false);
  // Whoever lets the last message go on wants no new one.
  const bool begins = fields.flag("add_generation_prompt", !is_open);
  if (is_open && begins)
    fields.fail(wrong_field("continue_final_message",
                            "'continue_final_message' and 'add_generation_prompt' exclude each other."));
  for (const char* name : {"add_generation_prompt", "continue_final_message"}) {
    if (fields.has(name)) {
      const bool is_default = (std::string_view(name) == "add_generation_prompt") == fields.flag(name, false);
      request.chat_options.push_back({name, json_of(*fields.find(name)), is_default});
    }
  }
  const ChatEnd end = is_open ? ChatEnd::kOpen : begins ? ChatEnd::kAnswer : ChatEnd::kNothing;
  request.prompts = {{chat_text(messages, end), {}, false}};
  request.messages = chat_json(messages);
}

std::variant<GenerationRequest, ApiError> read_completion(std::string_view body, bool is_chat) {
  CheckedDocument document;
  if (auto failure = parse_body(body, document)) return std::move(*failure);
  Fields fields(document);
  GenerationRequest request;
  request.is_chat = is_chat;
  request.model = read_model(fields);
  if (is_chat) {
    read_chat(fields, request);
    read_tools(fields, request);
  } else {
    request.prompts = read_prompts(fields, "prompt", kChoicesMax);
  }
  request.n = static_cast<uint32_t>(fields.integer("n", 1, kChoicesMax).value_or(1));
  if (request.n * request.prompts.size() > kChoicesMax)
    fields.fail(
        wrong_field("n", cat("'n' times the number of prompts has to be at most ", kChoicesMax, ".")));
  read_stream(fields, request);
  read_stops(fields, "stop", request);
  read_sampling(fields, request);
  read_logprobs(fields, request);
  read_response_format(fields, request);
  const char* const newer = "max_completion_tokens";
  request.max_tokens_field = is_chat && fields.has(newer) ? newer : "max_tokens";
  request.max_tokens = fields.integer(request.max_tokens_field.c_str(), 1, kMostTokens);
  refuse_what_is_not_served(fields, is_chat);
  if (request.has_tools() && !request.format_field.empty())
    fields.fail(wrong_field(request.format_field,
                            cat("'", request.format_field, "' does not go together with 'tools'.")));
  for (const auto& member : document.GetObject()) {
    const std::string_view name = text_of(member.name);
    const bool is_known = is_among(name, kRead) || is_among(name, kWithoutEffect) ||
                          is_among(name, kNotServed) || is_among(name, sampling_fields());
    request.unknown_fields += is_known ? 0 : 1;
  }
  if (fields.failure()) return std::move(*fields.failure());
  return request;
}

}  // namespace atl::frontends::openai
