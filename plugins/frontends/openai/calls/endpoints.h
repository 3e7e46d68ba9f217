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

}  // namespace atl::frontends::openai
