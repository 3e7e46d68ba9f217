#include "frontends/http/codec/request_parameters.h"

#include <algorithm>

#include "frontends/common/codec/wire_messages.h"
#include "frontends/http/codec/json_values.h"

namespace atl::frontends::http {

Status copy_name(std::string_view what, std::string_view text, size_t max_bytes, Arena& arena,
                 std::string_view* out) noexcept {
  if (text.size() > max_bytes) {
    return invalid_argument(what, " has ", text.size(), " bytes, at most ", max_bytes, " are allowed");
  }
  if (text.find('\0') != std::string_view::npos) {
    return invalid_argument(what, " holds a NUL character, none is allowed");
  }
  *out = arena.copy_text(text);
  return {};
}

Status set_request_id(JsonElement value, Request& request) noexcept {
  std::string_view id;
  ATOLL_RETURN_IF_ERROR(read_string("id", value, &id));
  return copy_name("the request's id", id, kMaxIdBytes, request.arena(), &request.id);
}

Status add_request_parameter(std::string_view key, JsonElement value, const JsonDocument& document,
                             Request& request) noexcept {
  if (request.parameters.size() == kMaxParameters) {
    return invalid_argument("the request has more than ", kMaxParameters, " parameters");
  }
  if (std::any_of(request.parameters.begin(), request.parameters.end(),
                  [key](const Parameter& parameter) { return parameter.key == key; })) {
    return invalid_argument("the request has the parameter '", key, "' twice, expected once");
  }
  Parameter parameter;
  ATOLL_RETURN_IF_ERROR(
      copy_name("the key of a parameter", key, kMaxNameBytes, request.arena(), &parameter.key));
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    parameter.text = request.arena().copy_text(text);
  } else if (value.get_bool().get(parameter.bool_value) == simdjson::SUCCESS) {
    parameter.type = ParameterType::kBool;
  } else if (value.get_int64().get(parameter.int_value) == simdjson::SUCCESS) {
    parameter.type = ParameterType::kInt;
  } else if (document.number(value, &parameter.double_value)) {
    parameter.type = ParameterType::kDouble;
  } else {
    return invalid_argument(messages::http_parameter_type(key));
  }
  request.add_parameter() = parameter;
  return {};
}

}  // namespace atl::frontends::http
