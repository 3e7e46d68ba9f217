/// Bodies of /v1/completions and /v1/chat/completions.
#pragma once

#include <string_view>
#include <variant>

#include "frontends/openai/api_error.h"
#include "frontends/openai/request/fields.h"
#include "frontends/openai/request/generation_request.h"

namespace atl::frontends::openai {

std::variant<GenerationRequest, ApiError> read_completion(std::string_view body, bool is_chat);
/// The messages of a chat with what its template is told.
void read_chat(Fields& fields, GenerationRequest& request);

}  // namespace atl::frontends::openai
