/// Bodies of /v1/messages and /v1/messages/count_tokens.
#pragma once

#include <string_view>
#include <variant>

#include "frontends/openai/api_error.h"
#include "frontends/openai/request/generation_request.h"

namespace atl::frontends::openai {

/// As a chat. \param counts  only the tokens of the prompt are wanted
std::variant<GenerationRequest, ApiError> read_message(std::string_view body, bool counts);

}  // namespace atl::frontends::openai
