// RepositoryIndex, RepositoryModelLoad and RepositoryModelUnload; and what is known of shared memory.
#include "handlers.h"

namespace atl::frontends::grpc_frontend {
namespace {

using inference::ModelRepositoryParameter;

Status read_load_parameter(const std::string& key, const ModelRepositoryParameter& value,
                           ModelControlParameter* parameter) {
  parameter->key = key;
  if (key == "config") {
    if (value.parameter_choice_case() != ModelRepositoryParameter::kStringParam) {
      return invalid_argument("invalid value type for load parameter '", key, "', expected string_param.");
    }
    parameter->type = ParameterType::kString;
    parameter->text = value.string_param();
    return {};
  }
  if (!key.starts_with("file:")) return invalid_argument("unrecognized load parameter '", key, "'.");
  if (value.parameter_choice_case() != ModelRepositoryParameter::kBytesParam) {
    return invalid_argument("invalid value type for load parameter '", key, "', expected bytes_param.");
  }
  parameter->type = ParameterType::kBytes;
  parameter->text = value.bytes_param();
  return {};
}

}  // namespace

void repository_index(Backplane& backplane, const inference::RepositoryIndexRequest& request,
                      inference::RepositoryIndexResponse* response, Finish finish) noexcept {
  if (!request.repository_name().empty()) {
    finish(unimplemented(messages::kRepositoryName));
    return;
  }
  // A worker, because the catalog may have to look at the disk. The call's pass keeps everything alive.
  backplane.host.workers().run(make_task([&backplane, response, ready = request.ready(), finish] {
    Result<std::vector<ModelIndexEntry>> entries = backplane.catalog->index(ready);
    if (!entries.ok()) {
      finish(std::move(entries).status());
      return;
    }
    for (const ModelIndexEntry& entry : entries.value()) {
      auto* model = response->add_models();
      model->set_name(entry.name);
      model->set_version(entry.version);
      model->set_state(entry.state);
      model->set_reason(entry.reason);
    }
    finish({});
  }));
}

void repository_load(Backplane& backplane, const inference::RepositoryModelLoadRequest& request,
                     Finish finish) noexcept {
  if (!request.repository_name().empty()) return finish(unimplemented(messages::kRepositoryName));
  std::vector<ModelControlParameter> parameters;
  for (const auto& [key, value] : request.parameters()) {
    if (Status status = read_load_parameter(key, value, &parameters.emplace_back()); !status.ok()) {
      return finish(std::move(status));
    }
  }
  if (!backplane.control) return finish(unavailable(messages::kLoadNotAllowed));
  backplane.control->load(request.model_name(), std::move(parameters), std::move(finish));
}

void repository_unload(Backplane& backplane, const inference::RepositoryModelUnloadRequest& request,
                       Finish finish) noexcept {
  if (!request.repository_name().empty()) return finish(unimplemented(messages::kRepositoryName));
  std::vector<ModelControlParameter> parameters;
  for (const auto& [key, value] : request.parameters()) {
    if (key != "unload_dependents") continue;  // others have never been looked at
    if (value.parameter_choice_case() != ModelRepositoryParameter::kBoolParam) {
      return finish(Status(Code::kInvalidArgument, messages::parameter_type(key, "bool_param")));
    }
    ModelControlParameter& parameter = parameters.emplace_back();
    parameter.key = key;
    parameter.type = ParameterType::kBool;
    parameter.bool_value = value.bool_param();
  }
  if (!backplane.control) return finish(unavailable(messages::kLoadNotAllowed));
  backplane.control->unload(request.model_name(), std::move(parameters), std::move(finish));
}

Status shared_memory_status(const std::string& name, std::string_view kind) noexcept {
  if (name.empty()) return {};
  return not_found("Unable to find ", kind, " shared memory region: '", name, "'");
}

}  // namespace atl::frontends::grpc_frontend
