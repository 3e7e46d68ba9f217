#include "frontends/openai/calls/endpoints.h"

#include <memory>
#include <utility>
#include <variant>

#include "frontends/openai/answer/completion_format.h"
#include "frontends/openai/calls/completion_call.h"
#include "frontends/openai/calls/embedding_call.h"
#include "frontends/openai/request/completion_parser.h"
#include "frontends/openai/request/embedding_request.h"

namespace atl::frontends::openai {
namespace {

void complete(bool is_chat, OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass) {
  auto read = read_completion(text_of_body(exchange), is_chat);
  if (const auto* failure = std::get_if<ApiError>(&read)) return answer_error(exchange, *failure);
  auto& request = std::get<GenerationRequest>(read);
  context.count_unknown(request.unknown_fields);
  auto found = find_model(context, head, request.model, is_chat ? Role::kChat : Role::kCompletion);
  if (const auto* failure = std::get_if<ApiError>(&found)) return answer_error(exchange, *failure);
  auto& model = std::get<FoundModel>(found);
  if (auto refusal = CompletionCall::refusal(request, model)) return answer_error(exchange, *refusal);
  auto format = std::make_unique<CompletionFormat>(
      CompletionFormat::Head{request.model, context.host.clock().wall_ns() / kNsPerSecond, is_chat,
                             request.logprobs.has_value(), request.include_usage});
  CompletionCall::start(context, exchange, std::move(request), std::move(format), std::move(head),
                        std::move(model), std::move(pass));
}

}  // namespace

std::string_view text_of_body(const HttpExchange& exchange) noexcept {
  const auto body = exchange.body();
  return {reinterpret_cast<const char*>(body.data()), body.size()};
}

void answer_chat(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass) {
  complete(true, context, exchange, std::move(head), std::move(pass));
}

void answer_completion(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass) {
  complete(false, context, exchange, std::move(head), std::move(pass));
}

void answer_embedding(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass) {
  auto read = read_embedding(text_of_body(exchange));
  if (const auto* failure = std::get_if<ApiError>(&read)) return answer_error(exchange, *failure);
  auto& request = std::get<EmbeddingRequest>(read);
  context.count_unknown(request.unknown_fields);
  auto found = find_model(context, head, request.model, Role::kEmbedding);
  if (const auto* failure = std::get_if<ApiError>(&found)) return answer_error(exchange, *failure);
  auto& model = std::get<FoundModel>(found);
  if (request.texts.front().has_ids && !model.has_input(kTokenIds))
    return answer_error(exchange, not_served("input", cat("The model '", request.model, "' has no input '",
                                                          kTokenIds, "', so it takes texts only.")));
  EmbeddingCall::start(context, exchange, std::move(request), std::move(head), std::move(model),
                       std::move(pass));
}

}  // namespace atl::frontends::openai
