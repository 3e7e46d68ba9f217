#include "frontends/http/management/repository_json.h"

#include "frontends/http/management/base64.h"
#include "frontends/http/management/json_body.h"

namespace atl::frontends::http {
namespace {

/// The object `parameters` of a body. \returns through *found whether there is one
Status read_parameters(const JsonBody& body, JsonObject* parameters, bool* found) noexcept {
  JsonElement value;
  *found = find_member(body.object(), "parameters", &value);
  if (!*found) return {};
  ATOLL_RETURN_IF_ERROR(read_object("parameters", value, parameters));
  return check_members(*parameters);
}

Status read_load_parameter(std::string_view key, JsonElement value,
                           inference::ModelRepositoryParameter* parameter) noexcept {
  const bool file = key.starts_with("file:");
  if (key != "config" && !file) return invalid_argument("unexpected error on creating Triton parameter");
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    return Status(Code::kInvalidArgument, std::string(wrong_kind_text(JsonKind::kString)));
  }
  if (!file) {
    parameter->set_string_param(std::string(text));
    return {};
  }
  if (!decode_base64(text, parameter->mutable_bytes_param())) {
    return invalid_argument("load parameter '", key, "': expected the file's content as base64");
  }
  return {};
}

}  // namespace

Status read_index_request(std::string_view body, inference::RepositoryIndexRequest* request) noexcept {
  JsonBody json;
  ATOLL_RETURN_IF_ERROR(json.parse_optional(body));
  JsonElement value;
  if (!find_member(json.object(), "ready", &value)) return {};
  bool ready = false;
  if (value.get_bool().get(ready) != simdjson::SUCCESS) {
    return invalid_argument("Invalid value for 'ready': expected a boolean");
  }
  request->set_ready(ready);
  return {};
}

Status read_load_request(std::string_view body, inference::RepositoryModelLoadRequest* request) noexcept {
  JsonBody json;
  ATOLL_RETURN_IF_ERROR(json.parse_optional(body));
  JsonObject parameters;
  bool found = false;
  ATOLL_RETURN_IF_ERROR(read_parameters(json, &parameters, &found));
  if (!found) return {};
  for (const simdjson::dom::key_value_pair& field : parameters) {
    auto& parameter = (*request->mutable_parameters())[std::string(field.key)];
    ATOLL_RETURN_IF_ERROR(read_load_parameter(field.key, field.value, &parameter));
  }
  return {};
}

Status read_unload_request(std::string_view body, inference::RepositoryModelUnloadRequest* request) noexcept {
  JsonBody json;
  ATOLL_RETURN_IF_ERROR(json.parse_optional(body));
  JsonObject parameters;
  bool found = false;
  ATOLL_RETURN_IF_ERROR(read_parameters(json, &parameters, &found));
  JsonElement value;
  if (!found || !find_member(parameters, "unload_dependents", &value)) return {};
  bool unload_dependents = false;
  ATOLL_RETURN_IF_ERROR(read_bool("unload_dependents", value, &unload_dependents));
  (*request->mutable_parameters())["unload_dependents"].set_bool_param(unload_dependents);
  return {};
}

}  // namespace atl::frontends::http
