#include "control/explicit/load_parameters.h"

#include <string_view>
#include <utility>

#include "atoll/lib/entry_name.h"

namespace atl::control {
namespace {

constexpr std::string_view kFile = "file:";

std::string_view type_name(ParameterType type) {
  switch (type) {
    case ParameterType::kString:
      return "string";
    case ParameterType::kInt:
      return "int";
    case ParameterType::kBool:
      return "bool";
    case ParameterType::kDouble:
      return "double";
    case ParameterType::kBytes:
      return "bytes";
  }
  return "<invalid>";
}

Status read_parameter(ModelControlParameter& parameter, ModelLoadRequest* request) {
  std::string_view key = parameter.key;
  bool config = key == "config" && parameter.type == ParameterType::kString;
  bool file = key.starts_with(kFile) && parameter.type == ParameterType::kBytes;
  if (config && !request->config) {
    request->config = std::move(parameter.text);
  } else if (config) {
    return invalid_argument("load parameter 'config' is given twice");
  } else if (file) {
    request->files.push_back({std::string(key.substr(kFile.size())), std::move(parameter.text)});
  } else {
    return invalid_argument("Unrecognized load parameter '", key, "' with type '", type_name(parameter.type),
                            "'");
  }
  return {};
}

}  // namespace

Status check_load_name(std::string_view model) {
  if (without_blanks(model).empty()) {
    return invalid_argument("Model name cannot be empty. Please enter a valid name to deploy.");
  }
  if (leaves_directory(model)) {
    return invalid_argument("invalid model name '", model,
                            "', model name must not contain path traversal characters");
  }
  if (model.find('\0') != std::string_view::npos) {
    return invalid_argument("invalid model name: it contains a NUL byte");
  }
  return {};
}

Result<ModelLoadRequest> read_load_request(std::string model, std::vector<ModelControlParameter> parameters) {
  ATOLL_RETURN_IF_ERROR(check_load_name(model));
  ModelLoadRequest request;
  request.model = std::move(model);
  request.refresh_members = true;
  for (ModelControlParameter& parameter : parameters) {
    ATOLL_RETURN_IF_ERROR(read_parameter(parameter, &request));
  }
  return request;
}

bool wants_dependents(const std::vector<ModelControlParameter>& parameters) {
  for (const ModelControlParameter& parameter : parameters) {
    if (parameter.key == "unload_dependents") return parameter.bool_value;
  }
  return false;
}

Status load_answer(const std::string& model, bool overridden, bool exiting, ModelLoadOutcome outcome) {
  const Status& status = outcome.status;
  if (status.ok() || exiting) return std::move(outcome.status);
  if (status.code() == Code::kAborted) {
    return internal_error("failed to load '", model, "', no version is available: ", status.text());
  }
  if (outcome.was_read) return invalid_argument("load failed for model '", model, "': ", status.text(), "\n");
  Code code =
      overridden && status.code() == Code::kInvalidArgument ? Code::kInvalidArgument : Code::kInternal;
  return make_status(code, "failed to load '", model,
                     "', failed to poll from model repository: ", status.text());
}

}  // namespace atl::control
