/// How calls end that fail.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/frontend/http_routes.h"

namespace atl::frontends::tfserving {

inline constexpr std::string_view kJsonType = "application/json";

/// Answers with {"error": "<message>"} and the HTTP status of the code, and ends the exchange. \param retry_after_ms  0: the
/// client decides when to try again
void answer_error(HttpExchange& exchange, const Status& status, uint32_t retry_after_ms = 0) noexcept;
/// Answers with the text, or the error.
void answer_json(HttpExchange& exchange, Result<std::string> json) noexcept;

}  // namespace atl::frontends::tfserving
