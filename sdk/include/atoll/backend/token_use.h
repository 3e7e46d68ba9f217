/// For backends that know how many tokens their answers take: tells who counts them, see
/// atoll/request/request_admission.h.
#pragma once

#include <cstdint>

#include "atoll/request/request_admission.h"

namespace atl::backends {

/// Whether somebody counts the tokens of this request, so that add_token_use() is worth while.
inline bool counts_tokens(const Request& request) noexcept {
  return (request.call_flags & kCountsTokens) != 0;
}

/// Says in the response what it adds. Only of a request whose tokens are counted: of any other one the client
/// would get these parameters.
inline void add_token_use(Response& response, const TokenUse& use) noexcept {
  const auto add = [&response](std::string_view key, uint64_t tokens) {
    if (tokens == 0) return;
    Parameter& parameter = response.parameters.add(response.arena());
    parameter.key = key;
    parameter.type = ParameterType::kInt;
    parameter.int_value = static_cast<int64_t>(tokens);
  };
  add(kPromptTokensUsed, use.prompt);
  add(kGeneratedTokensUsed, use.generated);
}

}  // namespace atl::backends
