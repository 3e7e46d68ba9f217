/// Failures as OpenAI's API tells them.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::frontends::openai {

struct ApiError {
  int status = 400;             ///< of HTTP
  std::string message;          ///< for a person
  std::string param{};          ///< the field of the request that is wrong; empty: none
  std::string code{};           ///< for programs, such as "model_not_found"; empty: none
  uint32_t retry_after_ms = 0;  ///< 0: the client decides when to try again

  /// "invalid_request_error", as the status says.
  std::string_view type() const noexcept;
  /// {"error":{"message":...,"type":...,"param":...,"code":...}}
  std::string json() const;
};

/// How an API writes errors.
using ErrorJson = std::string (*)(const ApiError& error);
std::string openai_error_json(const ApiError& error);
/// {"type":"error","error":{"type":...,"message":...}}, as /v1/messages has them.
std::string messages_error_json(const ApiError& error);

/// A field has a value that cannot be.
ApiError wrong_field(std::string_view param, std::string message);
/// A field, or its value, is known and not served here.
ApiError not_served(std::string_view param, std::string message);
ApiError unknown_model(std::string_view model);
/// \param status  a failure of a model or of the server
ApiError error_of(const Status& status, uint32_t retry_after_ms = 0);

}  // namespace atl::frontends::openai
