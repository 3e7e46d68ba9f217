// Health and metadata.
#include "frontends/common/access/hidden_model.h"
#include "frontends/common/call/model_version.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/management/management.h"
#include "grpc_service.pb.h"

namespace atl::frontends {
namespace {

/// What this server serves, in the protocol's order.
constexpr const char* kExtensions[] = {"classification",
                                       "sequence",
                                       "model_repository",
                                       "model_repository(unload_dependents)",
                                       "schedule_policy",
                                       "model_configuration",
                                       "system_shared_memory",
                                       "cuda_shared_memory",
                                       "binary_tensor_data",
                                       "parameters",
                                       "statistics",
                                       "trace",
                                       "logging"};

Result<ModelRef> find_model(ServerAccess& server, const Identity* caller, ApiCategory category,
                            const std::string& name, const std::string& version) noexcept {
  if (!may_use(caller, category, name)) {
    // Labels are not looked up.
    Result<int64_t> number = parse_model_version(version);
    return number.ok() ? unknown_model_status(name) : std::move(number).status();
  }
  Result<int64_t> number = server.router->version_of(name, version);
  if (!number.ok()) return std::move(number).status();
  return server.catalog->acquire(name, number.value());
}

template <class Tensor>
void describe(const TensorSpec& spec, bool batched, Tensor* tensor) {
  tensor->set_name(spec.name);
  tensor->set_datatype(std::string(data_type_name(spec.datatype)));
  if (batched && !spec.shape_tensor) tensor->add_shape(-1);
  for (int64_t dim : spec.dims) tensor->add_shape(dim);
}

}  // namespace

Status server_live(ServerAccess& server, inference::ServerLiveResponse* response) noexcept {
  if (server.catalog->exiting()) return unavailable(messages::kServerExiting);
  response->set_live(server.catalog->live());
  return {};
}

Status server_ready(ServerAccess& server, inference::ServerReadyResponse* response) noexcept {
  if (server.catalog->exiting()) return unavailable(messages::kServerExiting);
  response->set_ready(server.catalog->ready());
  return {};
}

Status model_ready(ServerAccess& server, const Identity* caller, const inference::ModelReadyRequest& request,
                   inference::ModelReadyResponse* response) noexcept {
  Result<ModelRef> model =
      find_model(server, caller, ApiCategory::kHealth, request.name(), request.version());
  // Clients ask while they wait for a model: that there is none yet is an answer, not a failure.
  const Code code = model.ok() ? Code::kOk : model.status().code();
  const bool absent = code == Code::kNotFound || (code == Code::kUnavailable && !server.catalog->exiting());
  if (!model.ok() && !absent) return std::move(model).status();
  response->set_ready(model.ok() && model.value()->ready());
  return {};
}

Status server_metadata(ServerAccess& server, inference::ServerMetadataResponse* response) noexcept {
  response->set_name(server.server_name);
  response->set_version(std::string(server.host->server_version()));
  for (const char* extension : kExtensions) response->add_extensions(extension);
  return {};
}

Status model_metadata(ServerAccess& server, const Identity* caller,
                      const inference::ModelMetadataRequest& request,
                      inference::ModelMetadataResponse* response) noexcept {
  Result<ModelRef> model =
      find_model(server, caller, ApiCategory::kMetadata, request.name(), request.version());
  if (!model.ok()) return std::move(model).status();
  const ModelInfo& info = model.value()->info();
  if (!request.version().empty()) {
    response->add_versions(info.version_text);
  } else {
    Result<std::vector<int64_t>> versions = server.catalog->ready_versions(info.name);
    if (!versions.ok()) return std::move(versions).status();
    for (int64_t version : versions.value()) response->add_versions(std::to_string(version));
  }
  response->set_name(info.name);
  response->set_platform(info.platform);
  const bool batched = info.max_batch_size > 0;
  for (const TensorSpec& spec : info.inputs) describe(spec, batched, response->add_inputs());
  for (const TensorSpec& spec : info.outputs) describe(spec, batched, response->add_outputs());
  return {};
}

Status model_config(ServerAccess& server, const Identity* caller,
                    const inference::ModelConfigRequest& request,
                    inference::ModelConfigResponse* response) noexcept {
  Result<ModelRef> model =
      find_model(server, caller, ApiCategory::kModelConfig, request.name(), request.version());
  if (!model.ok()) return std::move(model).status();
  const ModelInfo& info = model.value()->info();
  if (!response->mutable_config()->ParseFromString(info.config)) {
    return internal_error("the configuration of model '", info.name, "' version ", info.version,
                          " is not a valid inference.ModelConfig");
  }
  return {};
}

}  // namespace atl::frontends
