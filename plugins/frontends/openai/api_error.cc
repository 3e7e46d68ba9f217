#include "frontends/openai/api_error.h"

#include <utility>

#include "atoll/lib/json_writer.h"
#include "frontends/common/codec/error_map.h"

namespace atl::frontends::openai {
namespace {

void write_text_or_null(CheckedWriter& json, std::string_view name, std::string_view text) {
  if (!text.empty()) return write_member(json, name, text);
  write_key(json, name);
  json.Null();
}

}  // namespace

std::string_view ApiError::type() const noexcept {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 501:
      return "not_supported_error";
    case 503:
      return "unavailable_error";
    default:
      return status < 500 ? "invalid_request_error" : "server_error";
  }
}

std::string ApiError::json() const {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  write_object(json, [&] {
    write_object(json, "error", [&] {
      write_member(json, "message", message);
      write_member(json, "type", type());
      write_text_or_null(json, "param", param);
      write_text_or_null(json, "code", code);
    });
  });
  return {buffer.GetString(), buffer.GetSize()};
}

std::string openai_error_json(const ApiError& error) { return error.json(); }

std::string messages_error_json(const ApiError& error) {
  const auto type = [&]() -> std::string_view {
    switch (error.status) {
      case 413:
        return "request_too_large";
      case 503:
        return "overloaded_error";
      default:
        return error.status >= 500 ? "api_error" : error.type();
    }
  };
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  write_object(json, [&] {
    write_member(json, "type", "error");
    write_object(json, "error", [&] {
      write_member(json, "type", type());
      write_member(json, "message", error.message);
    });
  });
  return {buffer.GetString(), buffer.GetSize()};
}

ApiError wrong_field(std::string_view param, std::string message) {
  return {.message = std::move(message), .param = std::string(param)};
}

ApiError not_served(std::string_view param, std::string message) {
  return {.message = std::move(message), .param = std::string(param), .code = "not_supported"};
}

ApiError unknown_model(std::string_view model) {
  return {.status = 404,
          .message = cat("The model '", model, "' does not exist or is not served."),
          .param = "model",
          .code = "model_not_found"};
}

ApiError error_of(const Status& status, uint32_t retry_after_ms) {
  return {
      .status = http_status(status.code()), .message = client_text(status), .retry_after_ms = retry_after_ms};
}

}  // namespace atl::frontends::openai
