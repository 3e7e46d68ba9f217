#include "frontends/http/management_endpoints.h"

#include <vector>

#include "frontends/common/json/metadata_json.h"
#include "frontends/common/json/model_config_json.h"
#include "frontends/common/json/statistics_json.h"
#include "frontends/http/call_support.h"
#include "frontends/http/http_messages.h"
#include "frontends/http/management/settings_json.h"
#include "frontends/http/management/shared_memory_json.h"

namespace atl::frontends::http {
namespace {

/// What health calls answer when they answer no.
Result<std::string> yes_or_no(Status status, bool yes) {
  if (!status.ok()) return status;
  if (!yes) return invalid_argument("");
  return std::string();
}

Result<std::string> empty_if_ok(Status status) {
  if (!status.ok()) return status;
  return std::string();
}

template <class Message>
void name_model(const Route& route, Message* message) {
  message->set_name(std::string(route.model));
  message->set_version(std::string(route.version));
}

Result<std::string> model_ready_reply(ServerAccess& server, const Identity* caller, const Route& route) {
  inference::ModelReadyRequest request;
  name_model(route, &request);
  inference::ModelReadyResponse response;
  Status status = model_ready(server, caller, request, &response);
  if (status.ok() && !response.ready()) status = invalid_argument(messages::kModelNotReady);
  return empty_if_ok(std::move(status));
}

Result<std::string> model_metadata_reply(ServerAccess& server, const Identity* caller, const Route& route) {
  inference::ModelMetadataRequest request;
  name_model(route, &request);
  inference::ModelMetadataResponse response;
  ATOLL_RETURN_IF_ERROR(model_metadata(server, caller, request, &response));
  return model_metadata_json(response);
}

Result<std::string> model_config_reply(ServerAccess& server, const Identity* caller, const Route& route) {
  inference::ModelConfigRequest request;
  name_model(route, &request);
  inference::ModelConfigResponse response;
  ATOLL_RETURN_IF_ERROR(model_config(server, caller, request, &response));
  return model_config_json(response.config());
}

Result<std::string> statistics_reply(ServerAccess& server, const Identity* caller, const Route& route) {
  inference::ModelStatisticsRequest request;
  name_model(route, &request);
  inference::ModelStatisticsResponse response;
  ATOLL_RETURN_IF_ERROR(model_statistics(server, caller, request, &response));
  return statistics_json(response);
}

Result<std::string> system_region_reply(ServerAccess& server, const Identity* caller, const Route& route,
                                        std::string_view body) {
  const std::string name(route.region);
  if (route.endpoint == Endpoint::kSystemRegionStatus) {
    inference::SystemSharedMemoryStatusRequest request;
    request.set_name(name);
    inference::SystemSharedMemoryStatusResponse response;
    ATOLL_RETURN_IF_ERROR(system_region_status(server, caller, request, &response));
    return system_regions_json(response);
  }
  if (route.endpoint == Endpoint::kSystemRegionUnregister) {
    inference::SystemSharedMemoryUnregisterRequest request;
    request.set_name(name);
    return empty_if_ok(unregister_system_region(server, caller, request));
  }
  if (name.empty()) return invalid_argument(messages::region_name_needed("system"));
  inference::SystemSharedMemoryRegisterRequest request;
  ATOLL_RETURN_IF_ERROR(read_system_register(body, &request));
  request.set_name(name);
  return empty_if_ok(register_system_region(server, caller, request));
}

Result<std::string> cuda_region_reply(ServerAccess& server, const Identity* caller, const Route& route,
                                      std::string_view body) {
  const std::string name(route.region);
  if (route.endpoint == Endpoint::kCudaRegionStatus) {
    inference::CudaSharedMemoryStatusRequest request;
    request.set_name(name);
    inference::CudaSharedMemoryStatusResponse response;
    ATOLL_RETURN_IF_ERROR(cuda_region_status(server, caller, request, &response));
    return cuda_regions_json(response);
  }
  if (route.endpoint == Endpoint::kCudaRegionUnregister) {
    inference::CudaSharedMemoryUnregisterRequest request;
    request.set_name(name);
    return empty_if_ok(unregister_cuda_region(server, caller, request));
  }
  if (name.empty()) return invalid_argument(messages::region_name_needed("cuda"));
  inference::CudaSharedMemoryRegisterRequest request;
  ATOLL_RETURN_IF_ERROR(read_cuda_register(body, &request));
  request.set_name(name);
  return empty_if_ok(register_cuda_region(server, caller, request));
}

Result<std::string> trace_reply(ServerAccess& server, const Identity* caller, const Route& route,
                                bool changes_wanted, std::string_view body) {
  const std::string model(route.model);
  std::vector<TraceSetting> effective;
  // What is wrong with the model is told before what is wrong with the body.
  ATOLL_RETURN_IF_ERROR(trace_setting(server, caller, model, {}, &effective));
  if (changes_wanted) {
    std::vector<TraceSetting> changes;
    ATOLL_RETURN_IF_ERROR(read_trace_changes(body, &changes));
    ATOLL_RETURN_IF_ERROR(trace_setting(server, caller, model, changes, &effective));
  }
  return trace_settings_json(effective);
}

Result<std::string> logging_reply(ServerAccess& server, bool changes_wanted, std::string_view body) {
  inference::LogSettingsRequest request;
  if (changes_wanted) ATOLL_RETURN_IF_ERROR(read_log_changes(body, &request));
  inference::LogSettingsResponse response;
  ATOLL_RETURN_IF_ERROR(log_settings(server, request, &response));
  return log_settings_json(response);
}

Result<std::string> health_or_metadata_reply(ServerAccess& server, const Route& route) {
  if (route.endpoint == Endpoint::kServerLive) {
    inference::ServerLiveResponse response;
    Status status = server_live(server, &response);
    return yes_or_no(std::move(status), response.live());
  }
  if (route.endpoint == Endpoint::kServerReady) {
    inference::ServerReadyResponse response;
    Status status = server_ready(server, &response);
    return yes_or_no(std::move(status), response.ready());
  }
  inference::ServerMetadataResponse response;
  ATOLL_RETURN_IF_ERROR(server_metadata(server, &response));
  return server_metadata_json(response);
}

}  // namespace

bool answers_later(Endpoint endpoint) noexcept {
  return endpoint == Endpoint::kRepositoryIndex || endpoint == Endpoint::kRepositoryLoad ||
         endpoint == Endpoint::kRepositoryUnload;
}

bool is_health(Endpoint endpoint) noexcept {
  return endpoint == Endpoint::kServerLive || endpoint == Endpoint::kServerReady;
}

Result<std::string> answer_management(ServerAccess& server, const Identity* caller, const Route& route,
                                      std::string_view method, std::string_view body) noexcept {
  const bool is_hidden = !route.model.empty() && !may_use(caller, route.category, route.model);
  Result<int64_t> version = is_hidden ? hidden_version(route) : route_version(server, route);
  if (!version.ok()) {
    return std::move(version).status();
  }
  switch (route.endpoint) {
    case Endpoint::kModelReady:
      return model_ready_reply(server, caller, route);
    case Endpoint::kModelMetadata:
      return model_metadata_reply(server, caller, route);
    case Endpoint::kModelConfig:
      return model_config_reply(server, caller, route);
    case Endpoint::kStatistics:
      return statistics_reply(server, caller, route);
    case Endpoint::kSystemRegionStatus:
    case Endpoint::kSystemRegionRegister:
    case Endpoint::kSystemRegionUnregister:
      return system_region_reply(server, caller, route, body);
    case Endpoint::kCudaRegionStatus:
    case Endpoint::kCudaRegionRegister:
    case Endpoint::kCudaRegionUnregister:
      return cuda_region_reply(server, caller, route, body);
    case Endpoint::kTraceSetting:
      return trace_reply(server, caller, route, method == "POST", body);
    case Endpoint::kLogging:
      return logging_reply(server, method == "POST", body);
    default:
      return health_or_metadata_reply(server, route);
  }
}

}  // namespace atl::frontends::http
