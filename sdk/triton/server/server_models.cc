#include <optional>

#include "atoll/triton/server.h"
#include "atoll/triton/status.h"
#include "error.h"
#include "request/parameter.h"

using namespace atl::triton;

namespace {

constexpr std::string_view kFilePrefix = "file:";

/// What a load is to be made of instead of the model's directory.
struct LoadSource {
  std::optional<std::string> config;
  std::vector<atl::RepositoryFile> files;
};

TRITONSERVER_Error* add_parameter(const TRITONSERVER_Parameter& parameter, LoadSource* source) {
  const std::string_view name = parameter.name;
  if (name == "config") {
    if (parameter.type != TRITONSERVER_PARAMETER_STRING) {
      return invalid_argument("load parameter 'config' is of type ",
                              TRITONSERVER_ParameterTypeString(parameter.type), ", expected STRING");
    }
    source->config = parameter.text;
    return nullptr;
  }
  if (!name.starts_with(kFilePrefix)) {
    return invalid_argument("load parameter '", name, "' is unknown, expected 'config' or 'file:<path>'");
  }
  if (parameter.type != TRITONSERVER_PARAMETER_BYTES) {
    return invalid_argument("load parameter '", name, "' is of type ",
                            TRITONSERVER_ParameterTypeString(parameter.type), ", expected BYTES");
  }
  source->files.push_back({std::string(name.substr(kFilePrefix.size())), std::string(parameter.bytes)});
  return nullptr;
}

TRITONSERVER_Error* unload(const char* function, TRITONSERVER_Server* server, const char* model,
                           bool with_dependents) {
  if (any_null(server, model)) return null_argument(function);
  return guarded([&] { return to_error(server->unload(model, with_dependents)); });
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_ServerLoadModel(TRITONSERVER_Server* server, const char* model_name) {
  return TRITONSERVER_ServerLoadModelWithParameters(server, model_name, nullptr, 0);
}

TRITONSERVER_Error* TRITONSERVER_ServerLoadModelWithParameters(TRITONSERVER_Server* server,
                                                               const char* model_name,
                                                               const TRITONSERVER_Parameter** parameters,
                                                               const uint64_t parameter_count) {
  if (any_null(server, model_name) || (parameters == nullptr && parameter_count != 0)) {
    return null_argument(__func__);
  }
  return guarded([&]() -> TRITONSERVER_Error* {
    LoadSource source;
    for (uint64_t i = 0; i < parameter_count; ++i) {
      if (parameters[i] == nullptr) return invalid_argument("load parameter ", i, " is null");
      if (TRITONSERVER_Error* error = add_parameter(*parameters[i], &source)) return error;
    }
    return to_error(
        server->load(model_name, source.config ? &*source.config : nullptr, std::move(source.files)));
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerUnloadModel(TRITONSERVER_Server* server, const char* model_name) {
  return unload(__func__, server, model_name, false);
}

TRITONSERVER_Error* TRITONSERVER_ServerUnloadModelAndDependents(TRITONSERVER_Server* server,
                                                                const char* model_name) {
  return unload(__func__, server, model_name, true);
}

TRITONSERVER_Error* TRITONSERVER_ServerRegisterModelRepository(TRITONSERVER_Server* server,
                                                               const char* repository_path,
                                                               const TRITONSERVER_Parameter** name_mapping,
                                                               const uint32_t mapping_count) {
  if (any_null(server, repository_path) || (name_mapping == nullptr && mapping_count != 0)) {
    return null_argument(__func__);
  }
  return guarded([&]() -> TRITONSERVER_Error* {
    std::vector<std::pair<std::string, std::string>> names;
    for (uint32_t i = 0; i < mapping_count; ++i) {
      const TRITONSERVER_Parameter* parameter = name_mapping[i];
      if (parameter == nullptr) return invalid_argument("name mapping ", i, " is null");
      if (parameter->type != TRITONSERVER_PARAMETER_STRING) {
        return invalid_argument("name mapping '", parameter->name, "' is of type ",
                                TRITONSERVER_ParameterTypeString(parameter->type), ", expected STRING");
      }
      names.emplace_back(parameter->name, parameter->text);
    }
    return to_error(server->register_repository(repository_path, names));
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerUnregisterModelRepository(TRITONSERVER_Server* server,
                                                                 const char* repository_path) {
  if (any_null(server, repository_path)) return null_argument(__func__);
  return guarded([&] { return to_error(server->unregister_repository(repository_path)); });
}

TRITONSERVER_Error* TRITONSERVER_ServerPollModelRepository(TRITONSERVER_Server* server) {
  if (server == nullptr) return null_argument(__func__);
  return guarded([&] { return to_error(server->poll()); });
}
