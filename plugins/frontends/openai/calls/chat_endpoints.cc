// APIs that are chats under other names: /v1/responses and /v1/messages.
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "frontends/openai/answer/messages_format.h"
#include "frontends/openai/answer/responses_format.h"
#include "frontends/openai/calls/completion_call.h"
#include "frontends/openai/calls/endpoints.h"
#include "frontends/openai/calls/question_call.h"
#include "frontends/openai/request/messages_request.h"
#include "frontends/openai/request/responses_request.h"

namespace atl::frontends::openai {
namespace {

void answer_as(std::unique_ptr<AnswerFormat> format, GenerationRequest request, OpenAiContext& context,
               HttpExchange& exchange, CallOrigin head, Pass pass) {
  const ErrorJson write = format->error_json();
  context.count_unknown(request.unknown_fields);
  auto found = find_model(context, head, request.model, Role::kChat);
  if (const auto* failure = std::get_if<ApiError>(&found)) return answer_error(exchange, *failure, write);
  auto& model = std::get<FoundModel>(found);
  if (auto refusal = CompletionCall::refusal(request, model)) return answer_error(exchange, *refusal, write);
  CompletionCall::start(context, exchange, std::move(request), std::move(format), std::move(head),
                        std::move(model), std::move(pass));
}

}  // namespace

void answer_response(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass) {
  auto read = read_responses(text_of_body(exchange));
  if (const auto* failure = std::get_if<ApiError>(&read)) return answer_error(exchange, *failure);
  auto& request = std::get<ResponsesRequest>(read);
  auto format = std::make_unique<ResponsesFormat>(
      request.chat.model, context.host.clock().wall_ns() / kNsPerSecond, std::move(request.echo));
  answer_as(std::move(format), std::move(request.chat), context, exchange, std::move(head), std::move(pass));
}

void answer_stored_response(OpenAiContext&, HttpExchange& exchange, CallOrigin, Pass) {
  answer_error(exchange, {.status = 404,
                          .message = "This server keeps no responses, so there is none with this id.",
                          .param = "response_id"});
}

void answer_message(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass) {
  auto read = read_message(text_of_body(exchange), /*counts=*/false);
  if (const auto* failure = std::get_if<ApiError>(&read))
    return answer_error(exchange, *failure, &messages_error_json);
  auto& request = std::get<GenerationRequest>(read);
  auto format = std::make_unique<MessagesFormat>(request.model);
  answer_as(std::move(format), std::move(request), context, exchange, std::move(head), std::move(pass));
}

void answer_message_count(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass) {
  auto read = read_message(text_of_body(exchange), /*counts=*/true);
  if (const auto* failure = std::get_if<ApiError>(&read))
    return answer_error(exchange, *failure, &messages_error_json);
  auto& request = std::get<GenerationRequest>(read);
  context.count_unknown(request.unknown_fields);
  auto found = find_model(context, head, request.model, Role::kChat);
  if (const auto* failure = std::get_if<ApiError>(&found))
    return answer_error(exchange, *failure, &messages_error_json);
  auto& model = std::get<FoundModel>(found);
  auto refusal = CompletionCall::refusal(request, model);
  if (!model.has_output(kPromptIds))
    refusal = not_served("model", cat("The model '", request.model, "' has no output '", kPromptIds,
                                      "', so its tokens cannot be counted."));
  if (refusal) return answer_error(exchange, *refusal, &messages_error_json);
  QuestionCall::Question question;
  question.prompts = std::move(request.prompts);
  question.messages = std::move(request.messages);
  if (!request.chat_options.empty()) question.chat_options = object_of(request.chat_options);
  question.wanted = {kPromptIds};
  question.errors = &messages_error_json;
  const auto write = [](std::vector<ModelAnswer>& answers) -> Result<std::string> {
    return cat("{\"input_tokens\":", answers[0].integers.size(), "}");
  };
  QuestionCall::start(context, exchange, std::move(question), write, std::move(head), std::move(model),
                      std::move(pass));
}

}  // namespace atl::frontends::openai
