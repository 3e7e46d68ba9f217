#include "frontends/openai/answer/completion_format.h"

#include <utility>

#include "atoll/core/text.h"
#include "frontends/openai/answer/json_append.h"
#include "frontends/openai/answer/new_id.h"

namespace atl::frontends::openai {
namespace {

constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";

void append_usage(const Usage& usage, std::string& out) {
  out += "\"usage\":{\"prompt_tokens\":";
  append_number(out, usage.prompt_tokens);
  out += ",\"completion_tokens\":";
  append_number(out, usage.completion_tokens);
  out += ",\"total_tokens\":";
  append_number(out, usage.prompt_tokens + usage.completion_tokens);
  if (usage.cached_tokens != 0) {
    out += ",\"prompt_tokens_details\":{\"cached_tokens\":";
    append_number(out, usage.cached_tokens);
    out += '}';
  }
  out += '}';
}

void append_function(const ToolCall& call, std::string& out) {
  out += "\"id\":";
  append_json_text(out, call.id);
  out += ",\"type\":\"function\",\"function\":{\"name\":";
  append_json_text(out, call.name);
  out += ",\"arguments\":";
  append_json_text(out, call.arguments);
  out += "}}";
}

}  // namespace

CompletionFormat::CompletionFormat(Head head)
    : head_(std::move(head)), id_(new_id(head_.is_chat ? "chatcmpl-" : "cmpl-")) {
  chunk_head_ = "{\"id\":";
  append_json_text(chunk_head_, id_);
  chunk_head_ += cat(",\"object\":\"", head_.is_chat ? "chat.completion.chunk" : "text_completion",
                     "\",\"created\":", head_.created_s, ",\"model\":");
  append_json_text(chunk_head_, head_.model);
  chunk_head_ += ",\"choices\":[";
}

std::string CompletionFormat::whole(std::span<const AnswerChoice> choices, const Usage& usage) {
  std::string out = "{\"id\":";
  append_json_text(out, id_);
  out += cat(",\"object\":\"", head_.is_chat ? "chat.completion" : "text_completion",
             "\",\"created\":", head_.created_s, ",\"model\":");
  append_json_text(out, head_.model);
  out += ",\"choices\":[";
  for (uint32_t i = 0; i < choices.size(); ++i) {
    if (i != 0) out += ',';
    append_choice(i, choices[i], out);
  }
  out += "],";
  append_usage(usage, out);
  return out += '}';
}

void CompletionFormat::append_choice(uint32_t index, const AnswerChoice& choice, std::string& out) const {
  out += "{\"index\":";
  append_number(out, index);
  if (head_.is_chat) {
    out += ",\"message\":{\"role\":\"assistant\",\"content\":";
    choice.text.empty() && !choice.calls.empty() ? void(out += "null") : append_json_text(out, choice.text);
    if (!choice.calls.empty()) out += ",\"tool_calls\":";
    for (size_t i = 0; i < choice.calls.size(); ++i) {
      out += i == 0 ? "[{" : ",{";
      append_function(choice.calls[i], out);
    }
    out += choice.calls.empty() ? "}" : "]}";
  } else {
    out += ",\"text\":";
    append_json_text(out, choice.text);
  }
  append_logprobs(choice.tokens, out);
  out += ",\"finish_reason\":";
  append_json_text(out, choice.finish_reason);
  out += '}';
}

void CompletionFormat::append_logprobs(const std::vector<TokenLogprob>& tokens, std::string& out) const {
  out += ",\"logprobs\":";
  if (!head_.has_logprobs) {
    out += "null";
  } else if (head_.is_chat) {
    append_chat_logprobs(out, tokens);
  } else {
    append_completion_logprobs(out, tokens);
  }
}

// --- a stream ---

void CompletionFormat::begin_chunk(uint32_t choice, std::string& out) const {
  out += "data: ";
  out += chunk_head_;
  out += "{\"index\":";
  append_number(out, choice);
  out += head_.is_chat ? ",\"delta\":{" : ",\"text\":";
}

void CompletionFormat::end_chunk(const std::vector<TokenLogprob>& tokens, std::string_view reason,
                                 std::string& out) const {
  if (head_.is_chat) out += '}';
  if (tokens.empty()) {
    out += ",\"logprobs\":null";
  } else {
    append_logprobs(tokens, out);
  }
  out += ",\"finish_reason\":";
  reason.empty() ? void(out += "null") : append_json_text(out, reason);
  out += head_.include_usage ? "}],\"usage\":null}\n\n" : "}]}\n\n";
}

void CompletionFormat::open(uint32_t choice, const Usage&, std::string& out) {
  if (!head_.is_chat) return;
  begin_chunk(choice, out);
  out += "\"role\":\"assistant\",\"content\":\"\"";
  end_chunk({}, {}, out);
}

void CompletionFormat::text(uint32_t choice, std::string_view text, const std::vector<TokenLogprob>& tokens,
                            std::string& out) {
  begin_chunk(choice, out);
  if (head_.is_chat) out += "\"content\":";
  append_json_text(out, text);
  end_chunk(tokens, {}, out);
}

void CompletionFormat::call(uint32_t choice, uint32_t index, const ToolCall& call, std::string& out) {
  begin_chunk(choice, out);
  out += "\"tool_calls\":[{\"index\":";
  append_number(out, index);
  out += ',';
  append_function({call.id, call.name, {}}, out);
  out += ']';
  end_chunk({}, {}, out);
}

void CompletionFormat::arguments(uint32_t choice, uint32_t index, std::string_view text, std::string& out) {
  begin_chunk(choice, out);
  out += "\"tool_calls\":[{\"index\":";
  append_number(out, index);
  out += ",\"function\":{\"arguments\":";
  append_json_text(out, text);
  out += "}}]";
  end_chunk({}, {}, out);
}

void CompletionFormat::close(uint32_t choice, const AnswerChoice& answer, std::string& out) {
  begin_chunk(choice, out);
  if (!head_.is_chat) out += "\"\"";
  end_chunk(answer.tokens, answer.finish_reason, out);
}

void CompletionFormat::end(std::span<const AnswerChoice>, const Usage& usage, std::string& out) {
  if (head_.include_usage) {
    out += "data: ";
    out += chunk_head_;
    out += "],";
    append_usage(usage, out);
    out += "}\n\n";
  }
  out += kDoneEvent;
}

void CompletionFormat::failure(const ApiError& error, std::string& out) {
  out += cat("data: ", error.json(), "\n\n");
}

}  // namespace atl::frontends::openai
