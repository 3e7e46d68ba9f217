/// From the body of a call to the call itself: one function for each path. All of them end the exchange, now or later.
#pragma once

#include <string_view>

#include "frontends/openai/calls/group_call.h"

namespace atl::frontends::openai {

using AnswerCall = void (*)(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);

std::string_view text_of_body(const HttpExchange& exchange) noexcept;

void answer_chat(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
void answer_completion(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
void answer_embedding(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
void answer_rerank(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
void answer_classify(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
void answer_tokenize(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
void answer_detokenize(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
void answer_response(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
/// Of an earlier response: there is none.
void answer_stored_response(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
void answer_message(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
void answer_message_count(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);

/// Lists the models that have a role; may take long.
void answer_models(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
/// One model.
void answer_model(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
/// Loads or unloads a model, as the end of the path says.
void answer_model_control(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);
/// Whether the server is ready.
void answer_health(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass);

}  // namespace atl::frontends::openai
