/// Bodies of /v1/responses.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "frontends/openai/answer/responses_format.h"
#include "frontends/openai/api_error.h"
#include "frontends/openai/request/generation_request.h"

namespace atl::frontends::openai {

/// As a chat, and what of the request stands in the answer, too.
struct ResponsesRequest {
  GenerationRequest chat;
  ResponseEcho echo;
};

std::variant<ResponsesRequest, ApiError> read_responses(std::string_view body);

}  // namespace atl::frontends::openai
