// /v1/rerank, /v1/classify, /tokenize and /detokenize.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <variant>

#include "frontends/openai/answer/json_append.h"
#include "frontends/openai/answer/new_id.h"
#include "frontends/openai/calls/completion_call.h"
#include "frontends/openai/calls/endpoints.h"
#include "frontends/openai/calls/question_call.h"
#include "frontends/openai/request/other_requests.h"

namespace atl::frontends::openai {
namespace {

void append_float(std::string& out, float value) { out += cat(value); }

/// The model for a request that was read; nothing: the exchange has been answered.
template <class Request>
std::optional<FoundModel> model_for(OpenAiContext& context, HttpExchange& exchange, const CallOrigin& head,
                                    std::variant<Request, ApiError>& read, Role role) {
  if (const auto* failure = std::get_if<ApiError>(&read)) {
    answer_error(exchange, *failure);
    return std::nullopt;
  }
  auto& request = std::get<Request>(read);
  context.count_unknown(request.unknown_fields);
  auto found = find_model(context, head, request.model, role);
  if (const auto* failure = std::get_if<ApiError>(&found)) {
    answer_error(exchange, *failure);
    return std::nullopt;
  }
  return std::move(std::get<FoundModel>(found));
}

void append_usage(std::string& out, uint64_t tokens) {
  out += cat(",\"usage\":{\"prompt_tokens\":", tokens, ",\"total_tokens\":", tokens, "}}");
}

std::string rerank_json(const RerankRequest& request, const ModelAnswer& answer) {
  std::vector<size_t> order(request.documents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return answer.numbers[a] > answer.numbers[b]; });
  if (request.top_n > 0) order.resize(std::min(order.size(), static_cast<size_t>(request.top_n)));
  std::string out = cat("{\"id\":\"", new_id("rerank-"), "\",\"model\":");
  append_json_text(out, request.model);
  out += ",\"results\":[";
  for (const size_t index : order) {
    if (index != order.front()) out += ',';
    out += "{\"index\":";
    append_number(out, index);
    if (request.return_documents) {
      out += ",\"document\":{\"text\":";
      append_json_text(out, request.documents[index]);
      out += '}';
    }
    out += ",\"relevance_score\":";
    append_float(out, answer.numbers[index]);
    out += '}';
  }
  out += ']';
  append_usage(out, answer.input_tokens);
  return out;
}

std::string classify_json(const std::string& model, int64_t created_s,
                          const std::vector<ModelAnswer>& answers) {
  std::string out =
      cat("{\"id\":\"", new_id("classify-"), "\",\"object\":\"list\",\"created\":", created_s, ",\"model\":");
  append_json_text(out, model);
  out += ",\"data\":[";
  uint64_t tokens = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    const ModelAnswer& answer = answers[i];
    tokens += answer.input_tokens;
    // The label of the highest score, if there is one for each; a single label is that of the whole text.
    const auto best = std::max_element(answer.numbers.begin(), answer.numbers.end()) - answer.numbers.begin();
    const bool has_each = answer.texts.size() == answer.numbers.size();
    out += cat(i == 0 ? "" : ",", "{\"index\":", i, ",\"label\":");
    append_json_text(out, answer.texts[has_each ? static_cast<size_t>(best) : 0]);
    out += ",\"probs\":[";
    for (size_t n = 0; n < answer.numbers.size(); ++n) {
      if (n != 0) out += ',';
      append_float(out, answer.numbers[n]);
    }
    out += cat("],\"num_classes\":", answer.numbers.size(), "}");
  }
  out += ']';
  append_usage(out, tokens);
  return out;
}

std::optional<ApiError> token_refusal(const GenerationRequest& request, const FoundModel& model,
                                      std::string_view output) {
  if (!model.has_output(output))
    return not_served("model", cat("The model '", request.model, "' has no output '", output,
                                   "', so it does not show its tokens."));
  if (request.prompts[0].has_ids && !model.has_input(kTokenIds))
    return not_served("model", cat("The model '", request.model, "' has no input '", kTokenIds, "'."));
  return CompletionCall::refusal(request, model);
}

QuestionCall::Question question_of(GenerationRequest& request, std::string_view wanted) {
  QuestionCall::Question question;
  question.prompts = std::move(request.prompts);
  question.messages = std::move(request.messages);
  if (!request.chat_options.empty()) question.chat_options = object_of(request.chat_options);
  question.wanted = {wanted};
  return question;
}

}  // namespace

void answer_rerank(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass) {
  auto read = read_rerank(text_of_body(exchange));
  std::optional<FoundModel> model = model_for(context, exchange, head, read, Role::kRerank);
  if (!model) return;
  auto& request = std::get<RerankRequest>(read);
  QuestionCall::Question question;
  question.query = request.query;
  question.documents = request.documents;
  question.wanted = {kScores, kInputTokens};
  auto write = [request = std::move(request)](std::vector<ModelAnswer>& answers) -> Result<std::string> {
    if (answers[0].numbers.size() != request.documents.size())
      return internal_error("the model has given ", answers[0].numbers.size(), " scores for ",
                            request.documents.size(), " documents");
    return rerank_json(request, answers[0]);
  };
  QuestionCall::start(context, exchange, std::move(question), std::move(write), std::move(head),
                      std::move(*model), std::move(pass));
}

void answer_classify(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass) {
  auto read = read_classify(text_of_body(exchange));
  std::optional<FoundModel> model = model_for(context, exchange, head, read, Role::kClassify);
  if (!model) return;
  auto& request = std::get<ClassifyRequest>(read);
  if (request.texts[0].has_ids && !model->has_input(kTokenIds))
    return answer_error(exchange, not_served("input", cat("The model '", request.model, "' has no input '",
                                                          kTokenIds, "', so it takes texts only.")));
  QuestionCall::Question question;
  question.prompts = std::move(request.texts);
  question.wanted = {kLabel, kScore, kInputTokens};
  auto write = [name = request.model, created_s = context.host.clock().wall_ns() / kNsPerSecond](
                   std::vector<ModelAnswer>& answers) -> Result<std::string> {
    for (const ModelAnswer& answer : answers) {
      if (answer.numbers.empty() || answer.texts.empty())
        return internal_error("the model has given no label, or no score");
    }
    return classify_json(name, created_s, answers);
  };
  QuestionCall::start(context, exchange, std::move(question), std::move(write), std::move(head),
                      std::move(*model), std::move(pass));
}

void answer_tokenize(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass) {
  auto read = read_tokenize(text_of_body(exchange));
  const auto* const asked = std::get_if<GenerationRequest>(&read);
  std::optional<FoundModel> model = model_for(
      context, exchange, head, read, asked != nullptr && asked->is_chat ? Role::kChat : Role::kCompletion);
  if (!model) return;
  auto& request = std::get<GenerationRequest>(read);
  if (auto refusal = token_refusal(request, *model, kPromptIds)) return answer_error(exchange, *refusal);
  const auto write = [](std::vector<ModelAnswer>& answers) -> Result<std::string> {
    std::string out = cat("{\"count\":", answers[0].integers.size(), ",\"tokens\":[");
    for (size_t i = 0; i < answers[0].integers.size(); ++i) {
      if (i != 0) out += ',';
      append_number(out, answers[0].integers[i]);
    }
    return out + "]}";
  };
  QuestionCall::start(context, exchange, question_of(request, kPromptIds), write, std::move(head),
                      std::move(*model), std::move(pass));
}

void answer_detokenize(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass) {
  auto read = read_detokenize(text_of_body(exchange));
  std::optional<FoundModel> model = model_for(context, exchange, head, read, Role::kCompletion);
  if (!model) return;
  auto& request = std::get<GenerationRequest>(read);
  if (auto refusal = token_refusal(request, *model, kPromptText)) return answer_error(exchange, *refusal);
  if (request.prompts[0].ids.empty()) return exchange.answer({.content_type = kJsonType}, R"({"prompt":""})");
  const auto write = [](std::vector<ModelAnswer>& answers) -> Result<std::string> {
    std::string text;
    for (const std::string& part : answers[0].texts) text += part;
    std::string out = "{\"prompt\":";
    append_json_text(out, text);
    return out + "}";
  };
  QuestionCall::start(context, exchange, question_of(request, kPromptText), write, std::move(head),
                      std::move(*model), std::move(pass));
}

}  // namespace atl::frontends::openai
