#include "frontends/openai/answer/messages_format.h"

#include <utility>

#include "atoll/core/text.h"
#include "atoll/lib/checked_document.h"
#include "frontends/openai/answer/json_append.h"
#include "frontends/openai/answer/new_id.h"

namespace atl::frontends::openai {
namespace {

void append_message_usage(const Usage& usage, std::string& out) {
  out += cat("{\"input_tokens\":", usage.prompt_tokens - usage.cached_tokens,
             ",\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":", usage.cached_tokens,
             ",\"output_tokens\":", usage.completion_tokens, "}");
}

/// "stop_reason":...,"stop_sequence":...
void append_stop(const AnswerChoice& choice, std::string& out) {
  const std::string_view reason = !choice.stop.empty()                   ? "stop_sequence"
                                  : choice.finish_reason == "length"     ? "max_tokens"
                                  : choice.finish_reason == "tool_calls" ? "tool_use"
                                                                         : "end_turn";
  out += cat("\"stop_reason\":\"", reason, "\",\"stop_sequence\":");
  choice.stop.empty() ? void(out += "null") : append_json_text(out, choice.stop);
}

/// The arguments as the object that this API has for them.
void append_tool_input(const std::string& arguments, std::string& out) {
  CheckedDocument document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(arguments.data(),
                                                                                         arguments.size());
  if (!document.HasParseError() && document.IsObject()) {
    out += arguments;
    return;
  }
  out += "{\"INVALID_JSON\":";
  append_json_text(out, arguments);
  out += '}';
}

}  // namespace

MessagesFormat::MessagesFormat(std::string model) : id_(new_id("msg_")), model_(std::move(model)) {}

void MessagesFormat::append_head(std::string& out) const {
  out += cat("{\"id\":\"", id_, "\",\"type\":\"message\",\"role\":\"assistant\",\"model\":");
  append_json_text(out, model_);
}

std::string MessagesFormat::whole(std::span<const AnswerChoice> choices, const Usage& usage) {
  const AnswerChoice& choice = choices.front();
  std::string out;
  append_head(out);
  out += ",\"content\":[";
  if (!choice.text.empty()) {
    out += "{\"type\":\"text\",\"text\":";
    append_json_text(out, choice.text);
    out += '}';
  }
  for (const ToolCall& call : choice.calls) {
    if (out.back() != '[') out += ',';
    out += cat("{\"type\":\"tool_use\",\"id\":\"", call.id, "\",\"name\":");
    append_json_text(out, call.name);
    out += ",\"input\":";
    append_tool_input(call.arguments, out);
    out += '}';
  }
  out += "],";
  append_stop(choice, out);
  out += ",\"usage\":";
  append_message_usage(usage, out);
  return out += '}';
}

// --- a stream ---

void MessagesFormat::open(uint32_t, const Usage& so_far, std::string& out) {
  out += "event: message_start\ndata: {\"type\":\"message_start\",\"message\":";
  append_head(out);
  out += ",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":";
  append_message_usage(so_far, out);
  out += "}}\n\n";
}

void MessagesFormat::begin_block(Block block, std::string_view content, std::string& out) {
  end_block(out);
  block_ = block;
  out += cat("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":", blocks_++,
             ",\"content_block\":", content, "}\n\n");
}

void MessagesFormat::end_block(std::string& out) {
  if (std::exchange(block_, Block::kNone) == Block::kNone) return;
  out += cat("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":", blocks_ - 1,
             "}\n\n");
}

void MessagesFormat::text(uint32_t, std::string_view text, const std::vector<TokenLogprob>&,
                          std::string& out) {
  if (block_ != Block::kText) begin_block(Block::kText, R"({"type":"text","text":""})", out);
  out += cat("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":", blocks_ - 1,
             ",\"delta\":{\"type\":\"text_delta\",\"text\":");
  append_json_text(out, text);
  out += "}}\n\n";
}

void MessagesFormat::call(uint32_t, uint32_t, const ToolCall& call, std::string& out) {
  std::string content = cat("{\"type\":\"tool_use\",\"id\":\"", call.id, "\",\"name\":");
  append_json_text(content, call.name);
  content += ",\"input\":{}}";
  begin_block(Block::kTool, content, out);
}

void MessagesFormat::arguments(uint32_t, uint32_t, std::string_view text, std::string& out) {
  out += cat("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":", blocks_ - 1,
             ",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":");
  append_json_text(out, text);
  out += "}}\n\n";
}

void MessagesFormat::close(uint32_t, const AnswerChoice&, std::string& out) { end_block(out); }

void MessagesFormat::end(std::span<const AnswerChoice> choices, const Usage& usage, std::string& out) {
  out += "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{";
  append_stop(choices.front(), out);
  out += "},\"usage\":";
  append_message_usage(usage, out);
  out += "}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
}

void MessagesFormat::failure(const ApiError& error, std::string& out) {
  out += cat("event: error\ndata: ", messages_error_json(error), "\n\n");
}

}  // namespace atl::frontends::openai
