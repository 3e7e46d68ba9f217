#include "frontends/openai/answer/responses_format.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "atoll/core/text.h"
#include "frontends/openai/answer/json_append.h"
#include "frontends/openai/answer/new_id.h"

namespace atl::frontends::openai {

ResponsesFormat::ResponsesFormat(std::string model, int64_t created_s, ResponseEcho echo)
    : id_(new_id("resp_")), model_(std::move(model)), created_s_(created_s), echo_(std::move(echo)) {}

std::string ResponsesFormat::whole(std::span<const AnswerChoice> choices, const Usage& usage) {
  for (const AnswerChoice& choice : choices) {
    if (!choice.text.empty() || choice.calls.empty()) {
      Item& item = begin_item(false);
      item.text = choice.text;
      item.tokens = choice.tokens;
    }
    for (const ToolCall& call : choice.calls) begin_item(true).call = call;
    is_full_ = choice.finish_reason == "length";
  }
  std::string out;
  append_response(is_full_ ? "incomplete" : "completed", &usage, nullptr, out);
  return out;
}

ResponsesFormat::Item& ResponsesFormat::begin_item(bool is_call) {
  Item& item = items_.emplace_back();
  item.is_call = is_call;
  item.id = new_id(is_call ? "fc_" : "msg_");
  return item;
}

void ResponsesFormat::append_part(const Item& item, bool is_empty, std::string& out) {
  out += "{\"type\":\"output_text\",\"text\":";
  append_json_text(out, is_empty ? std::string_view() : item.text);
  out += ",\"annotations\":[],\"logprobs\":";
  append_token_list(out, is_empty ? std::vector<TokenLogprob>() : item.tokens);
  out += '}';
}

void ResponsesFormat::append_item(const Item& item, std::string_view status, bool is_empty,
                                  std::string& out) const {
  out += cat("{\"id\":\"", item.id, "\",\"type\":\"", item.is_call ? "function_call" : "message",
             "\",\"status\":\"", status, "\",");
  if (item.is_call) {
    out += "\"call_id\":";
    append_json_text(out, item.call.id);
    out += ",\"name\":";
    append_json_text(out, item.call.name);
    out += ",\"arguments\":";
    append_json_text(out, is_empty ? std::string_view() : item.call.arguments);
  } else {
    out += "\"role\":\"assistant\",\"content\":[";
    if (!is_empty) append_part(item, false, out);
    out += ']';
  }
  out += '}';
}

void ResponsesFormat::append_response(std::string_view status, const Usage* usage, const ApiError* error,
                                      std::string& out) const {
  out += cat("{\"id\":\"", id_, "\",\"object\":\"response\",\"created_at\":", created_s_, ",\"status\":\"",
             status, "\",\"background\":false,\"error\":");
  if (error == nullptr) {
    out += "null";
  } else {
    out +=
        cat("{\"code\":\"", error->status == 429 ? "rate_limit_exceeded" : "server_error", "\",\"message\":");
    append_json_text(out, error->message);
    out += '}';
  }
  out += ",\"incomplete_details\":";
  out += status == "incomplete" ? R"({"reason":"max_output_tokens"})" : "null";
  out += cat(",\"instructions\":", echo_.instructions, ",\"max_output_tokens\":", echo_.max_output_tokens,
             ",\"model\":");
  append_json_text(out, model_);
  out += ",\"output\":[";
  for (const Item& item : items_) {
    if (&item != items_.data()) out += ',';
    const bool is_cut = status == "incomplete" && &item == &items_.back();
    append_item(item, is_cut ? status : "completed", false, out);
  }
  out +=
      cat("],\"parallel_tool_calls\":", echo_.is_parallel, ",\"previous_response_id\":null,",
          "\"reasoning\":{\"effort\":", echo_.effort,
          ",\"summary\":null},\"store\":false,\"temperature\":", echo_.temperature,
          ",\"text\":{\"format\":", echo_.format, "},\"tool_choice\":", echo_.tool_choice,
          ",\"tools\":", echo_.tools, ",\"top_p\":", echo_.top_p, ",\"truncation\":\"disabled\",\"usage\":");
  if (usage == nullptr) {
    out += "null";
  } else {
    out += cat("{\"input_tokens\":", usage->prompt_tokens,
               ",\"input_tokens_details\":{\"cached_tokens\":", usage->cached_tokens,
               "},\"output_tokens\":", usage->completion_tokens,
               ",\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":",
               usage->prompt_tokens + usage->completion_tokens, "}");
  }
  out += cat(",\"user\":", echo_.user, ",\"metadata\":", echo_.metadata, "}");
}

// --- a stream ---

void ResponsesFormat::begin_event(std::string_view type, std::string& out) {
  out += cat("event: ", type, "\ndata: {\"type\":\"", type, "\",\"sequence_number\":", sequence_++);
}

void ResponsesFormat::begin_item_event(std::string_view type, bool has_part, std::string& out) {
  begin_event(type, out);
  out += cat(",\"item_id\":\"", items_.back().id, "\",\"output_index\":", items_.size() - 1);
  if (has_part) out += ",\"content_index\":0";
}

void ResponsesFormat::response_event(std::string_view type, std::string_view status, const Usage* usage,
                                     const ApiError* error, std::string& out) {
  begin_event(type, out);
  out += ",\"response\":";
  append_response(status, usage, error, out);
  end_event(out);
}

void ResponsesFormat::open(uint32_t, const Usage&, std::string& out) {
  response_event("response.created", "in_progress", nullptr, nullptr, out);
  response_event("response.in_progress", "in_progress", nullptr, nullptr, out);
}

void ResponsesFormat::text(uint32_t, std::string_view text, const std::vector<TokenLogprob>& tokens,
                           std::string& out) {
  if (has_open_item_ && items_.back().is_call) end_item(out);
  if (!std::exchange(has_open_item_, true)) {
    const Item& item = begin_item(false);
    begin_event("response.output_item.added", out);
    out += cat(",\"output_index\":", items_.size() - 1, ",\"item\":");
    append_item(item, "in_progress", true, out);
    end_event(out);
    begin_item_event("response.content_part.added", true, out);
    out += ",\"part\":";
    append_part(item, true, out);
    end_event(out);
  }
  Item& item = items_.back();
  item.text += text;
  item.tokens.insert(item.tokens.end(), tokens.begin(), tokens.end());
  begin_item_event("response.output_text.delta", true, out);
  out += ",\"delta\":";
  append_json_text(out, text);
  out += ",\"logprobs\":";
  append_token_list(out, tokens);
  end_event(out);
}

void ResponsesFormat::call(uint32_t, uint32_t, const ToolCall& call, std::string& out) {
  end_item(out);
  has_open_item_ = true;
  Item& item = begin_item(true);
  item.call = call;
  item.call.arguments.clear();
  begin_event("response.output_item.added", out);
  out += cat(",\"output_index\":", items_.size() - 1, ",\"item\":");
  append_item(item, "in_progress", true, out);
  end_event(out);
}

void ResponsesFormat::arguments(uint32_t, uint32_t, std::string_view text, std::string& out) {
  items_.back().call.arguments += text;
  begin_item_event("response.function_call_arguments.delta", false, out);
  out += ",\"delta\":";
  append_json_text(out, text);
  end_event(out);
}

void ResponsesFormat::end_item(std::string& out) {
  if (!std::exchange(has_open_item_, false)) return;
  const Item& item = items_.back();
  if (item.is_call) {
    begin_item_event("response.function_call_arguments.done", false, out);
    out += ",\"name\":";
    append_json_text(out, item.call.name);
    out += ",\"arguments\":";
    append_json_text(out, item.call.arguments);
    end_event(out);
  } else {
    begin_item_event("response.output_text.done", true, out);
    out += ",\"text\":";
    append_json_text(out, item.text);
    out += ",\"logprobs\":";
    append_token_list(out, item.tokens);
    end_event(out);
    begin_item_event("response.content_part.done", true, out);
    out += ",\"part\":";
    append_part(item, false, out);
    end_event(out);
  }
  begin_event("response.output_item.done", out);
  out += cat(",\"output_index\":", items_.size() - 1, ",\"item\":");
  append_item(item, is_full_ ? "incomplete" : "completed", false, out);
  end_event(out);
}

void ResponsesFormat::close(uint32_t choice, const AnswerChoice& answer, std::string& out) {
  // Tokens that have waited for the end, and an answer without any text.
  const bool has_text = !items_.empty() && !items_.back().is_call;
  if (items_.empty()) text(choice, {}, answer.tokens, out);
  if (has_text) {
    Item& item = items_.back();
    item.tokens.insert(item.tokens.end(), answer.tokens.begin(), answer.tokens.end());
  }
  is_full_ = answer.finish_reason == "length";
  end_item(out);
}

void ResponsesFormat::end(std::span<const AnswerChoice>, const Usage& usage, std::string& out) {
  response_event(is_full_ ? "response.incomplete" : "response.completed",
                 is_full_ ? "incomplete" : "completed", &usage, nullptr, out);
}

void ResponsesFormat::failure(const ApiError& error, std::string& out) {
  response_event("response.failed", "failed", nullptr, &error, out);
}

}  // namespace atl::frontends::openai
