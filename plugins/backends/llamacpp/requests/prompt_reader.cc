#include "backends/llamacpp/requests/prompt_reader.h"

#include <utility>

#include "atoll/backend/bytes.h"
#include "atoll/backend/values.h"
#include "atoll/lib/checked_document.h"
#include "atoll/lib/json_depth.h"
#include "backends/llamacpp/requests/tensor_names.h"

namespace atl::llamacpp {
namespace {

/// The only element; empty: the request does not have the input.
Result<std::string> one_text(const Request& request, std::string_view name) {
  if (request.find_input(name) == nullptr) return std::string();
  Result<std::vector<std::string>> texts = backends::input_texts(request, name);
  if (!texts.ok()) return std::move(texts).status();
  if (texts->size() != 1)
    return invalid_argument("input '", name, "' has ", texts->size(), " elements, expected 1");
  return std::move(texts->front());
}

Status read_flag(Request& request, std::string_view name, bool& to) {
  if (request.find_input(name) == nullptr) return {};
  Result<std::span<const bool>> values = backends::input_values<bool>(request, name);
  if (!values.ok()) return std::move(values).status();
  if (values->size() != 1)
    return invalid_argument("input '", name, "' has ", values->size(), " elements, expected 1");
  // The bytes are the client's: any other than 0 is true.
  uint8_t byte = 0;
  std::memcpy(&byte, values->data(), 1);
  to = byte != 0;
  return {};
}

/// Whether the text is a JSON value of the kind; nested without recursion. \returns null: it is, else what is wrong
const char* json_problem(const std::string& text, bool is_array) {
  CheckedDocument document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError()) return "found no JSON";
  if (is_array ? document.IsArray() : document.IsObject()) return nullptr;
  return is_array ? "found no array" : "found no object";
}

Status check_json(std::string_view input, const std::string& text, bool is_array) {
  if (is_json_deeper_than(text, kJsonDepthMax))
    return invalid_argument("input '", input, "': found JSON of more than ", kJsonDepthMax, " levels");
  const char* const problem = json_problem(text, is_array);
  if (problem == nullptr) return {};
  return invalid_argument("input '", input, "': ", problem, ", expected a JSON ",
                          is_array ? "array" : "object");
}

bool has_member(const std::string& object, const char* name) {
  CheckedDocument document;
  document.Parse<rapidjson::kParseIterativeFlag>(object.data(), object.size());
  return document.HasMember(name) && !document[name].IsNull();
}

}  // namespace

Status PromptReader::read_chat(const Request& request, PromptRequest& to) const {
  Result<std::string> messages = one_text(request, kMessages);
  if (!messages.ok()) return std::move(messages).status();
  ATOLL_RETURN_IF_ERROR(check_json(kMessages, *messages, true));
  Result<std::string> options = one_text(request, kChatOptions);
  if (!options.ok()) return std::move(options).status();
  if (options->empty()) *options = "{}";
  ATOLL_RETURN_IF_ERROR(check_json(kChatOptions, *options, false));
  if (has_member(*options, "chat_template")) {
    return invalid_argument(
        "chat_options: field 'chat_template': the template is that of the model's file; a "
        "request cannot bring its own");
  }
  Result<std::string> prompt = file_.render_chat(*messages, *options);
  if (!prompt.ok()) return std::move(prompt).status();
  to.text = std::move(*prompt);
  to.repeats_prompt = false;
  if (to.asks == PromptRequest::Asks::kText) return {};
  // The template has written the control tokens, so they are read as such.
  Result<std::vector<Token>> tokens = file_.tokenize(to.text, true, true);
  if (!tokens.ok()) return std::move(tokens).status();
  to.tokens = std::move(tokens).value();
  return {};
}

Status PromptReader::read_prompt(Request& request, PromptRequest& to) const {
  if (const InputTensor* messages = request.find_input(kMessages); messages != nullptr) {
    Result<std::string> text = one_text(request, kMessages);
    if (!text.ok()) return std::move(text).status();
    if (!text->empty()) return read_chat(request, to);
  }
  Result<std::string> text = one_text(request, kTextInput);
  if (!text.ok()) return std::move(text).status();
  if (request.find_input(kTokenIds) != nullptr) {
    Result<std::span<const int32_t>> ids = backends::input_values<int32_t>(request, kTokenIds);
    if (!ids.ok()) return std::move(ids).status();
    if (!ids->empty() && !text->empty())
      return invalid_argument("found inputs 'text_input' and 'token_ids', expected one of them");
    to.tokens.assign(ids->begin(), ids->end());
    for (const Token token : to.tokens) {
      if (token < 0 || token >= file_.size())
        return invalid_argument("input 'token_ids': found ", token, ", expected ids from 0 to ",
                                file_.size() - 1);
    }
    to.repeats_prompt = false;
    if (!to.tokens.empty()) return {};
  }
  to.text = std::move(*text);
  Result<std::vector<Token>> tokens = file_.tokenize(to.text, true, true);
  if (!tokens.ok()) return std::move(tokens).status();
  to.tokens = std::move(tokens).value();
  return {};
}

Status PromptReader::check_length(const PromptRequest& prompt) const {
  if (prompt.tokens.empty())
    return invalid_argument("the prompt is empty: send text_input, messages or token_ids");
  const auto count = static_cast<int64_t>(prompt.tokens.size());
  if (count < context_tokens_) return {};
  return invalid_argument("model '", model_, "': the prompt has ", count, " tokens, and the context of ",
                          context_tokens_,
                          " tokens (parameter context_length) has to hold it and at least one more");
}

Result<PromptRequest> PromptReader::read(Request& request) const {
  PromptRequest prompt;
  prompt.names_outputs = request.outputs.size() < outputs_;
  if (request.outputs.size() == 1) {
    const std::string_view only = request.outputs[0].name;
    if (only == kPromptTokenIds) prompt.asks = PromptRequest::Asks::kTokens;
    if (only == kPromptText) prompt.asks = PromptRequest::Asks::kText;
  }
  ATOLL_RETURN_IF_ERROR(read_flag(request, kStream, prompt.streams));
  bool excludes_input = prompt.streams;
  ATOLL_RETURN_IF_ERROR(read_flag(request, kExcludeInput, excludes_input));
  prompt.repeats_prompt = !excludes_input;
  ATOLL_RETURN_IF_ERROR(read_flag(request, kReturnFinishReason, prompt.returns_finish_reason));
  ATOLL_RETURN_IF_ERROR(read_flag(request, kReturnInputTokens, prompt.returns_input_tokens));
  ATOLL_RETURN_IF_ERROR(read_flag(request, kReturnOutputTokens, prompt.returns_output_tokens));
  ATOLL_RETURN_IF_ERROR(read_flag(request, kReturnLogprobs, prompt.returns_logprobs));
  Result<std::string> sampling = one_text(request, kSamplingParameters);
  if (!sampling.ok()) return std::move(sampling).status();
  Result<SamplingOptions> options = read_sampling_options(*sampling, file_.size());
  if (!options.ok()) return std::move(options).status();
  prompt.options = std::move(options).value();
  if (prompt.returns_logprobs && !prompt.options.logprobs) prompt.options.logprobs = 0;
  ATOLL_RETURN_IF_ERROR(read_prompt(request, prompt));
  if (prompt.asks == PromptRequest::Asks::kAnswer) ATOLL_RETURN_IF_ERROR(check_length(prompt));
  return prompt;
}

}  // namespace atl::llamacpp
