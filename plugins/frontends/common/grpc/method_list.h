/// The methods of one message and one answer, but for inference: where they are and who answers them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "atoll/frontend/access.h"
#include "frontends/common/management/management.h"
#include "grpc_service.pb.h"
#include "health.pb.h"

namespace atl::frontends {

/// All that a frontend serves of its own.
inline constexpr std::string_view kGrpcServices[] = {
    "inference.GRPCInferenceService", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection"};

inline constexpr const char* kGrpcInferPath = "/inference.GRPCInferenceService/ModelInfer";
inline constexpr const char* kGrpcStreamInferPath = "/inference.GRPCInferenceService/ModelStreamInfer";

template <class Request, class Response>
struct ListedMethod {
  using RequestType = Request;
  using ResponseType = Response;
  /// Request and response are valid until the function that is handed over is called, on this or another thread.
  /// \param caller  null: there are no identities; else valid as long
  using Handle = void (*)(ServerAccess&, const Identity* caller, const Request&, Response*, Finish);

  const char* path = nullptr;
  ApiCategory category = ApiCategory::kHealth;
  /// Health calls hold no pass of the gate: they are answered while the server drains.
  bool holds_pass = false;
  Handle handle = nullptr;
  /// Of a method about a model, which another server may answer: its name. Null: the method is about this server.
  std::string_view (*model)(const Request&) = nullptr;

  /// It only asks whether the server lives or is ready.
  bool is_probe() const noexcept { return category == ApiCategory::kHealth && model == nullptr; }

  /// Only loads bring files, and only they count as memory of requests. Objects made of many small fields take
  /// many times what these take on the wire, so all other messages are small.
  static constexpr bool kBringsFiles = std::is_same_v<Request, inference::RepositoryModelLoadRequest>;
  static constexpr uint64_t max_bytes(uint64_t of_any_message) noexcept {
    constexpr uint64_t kMostOrdinaryBytes = uint64_t{1} << 20;
    return kBringsFiles ? of_any_message : std::min(of_any_message, kMostOrdinaryBytes);
  }
};

/// What a request is about, for the record.
template <class Request>
void report_subject(const Request& request, CallReport& report) {
  if constexpr (requires { request.model_name(); }) {
    report.set_model(request.model_name(), {});
  } else if constexpr (requires { request.name(), request.version(); }) {
    report.set_model(request.name(), request.version());
  }
}

namespace method_list_detail {

enum Pass : bool { kHealthCall = false, kOrdinaryCall = true };
enum About : bool { kThisServer = false, kAModel = true };

template <class Request>
std::string_view name_of(const Request& request) {
  return request.name();
}

/// A method that is answered before its function returns.
/// \tparam Answer  a function object without state: Status(ServerAccess&, const Identity*, const Request&, Response*)
template <class Request, class Response, class Answer>
ListedMethod<Request, Response> now(const char* path, ApiCategory category, Pass pass, About about, Answer) {
  ListedMethod<Request, Response> method;
  method.path = path;
  method.category = category;
  method.holds_pass = pass;
  method.handle = [](ServerAccess& server, const Identity* caller, const Request& request, Response* response,
                     Finish finish) { finish(Answer()(server, caller, request, response)); };
  if constexpr (requires(const Request& request) { request.name(); }) {
    if (about == kAModel) method.model = &name_of<Request>;
  }
  return method;
}

}  // namespace method_list_detail

/// Calls `use` with each ListedMethod.
template <class Use>
void for_each_health_method(Use&& use) {
  using namespace inference;
  using namespace method_list_detail;
  use(now<ServerLiveRequest, ServerLiveResponse>(
      "/inference.GRPCInferenceService/ServerLive", ApiCategory::kHealth, kHealthCall, kThisServer,
      [](ServerAccess& server, const Identity*, const auto&, auto* response) {
        return server_live(server, response);
      }));
  use(now<ServerReadyRequest, ServerReadyResponse>(
      "/inference.GRPCInferenceService/ServerReady", ApiCategory::kHealth, kHealthCall, kThisServer,
      [](ServerAccess& server, const Identity*, const auto&, auto* response) {
        return server_ready(server, response);
      }));
  use(now<ModelReadyRequest, ModelReadyResponse>(
      "/inference.GRPCInferenceService/ModelReady", ApiCategory::kHealth, kHealthCall, kAModel,
      [](ServerAccess& server, const Identity* caller, const auto& request, auto* response) {
        return model_ready(server, caller, request, response);
      }));
  using grpc::health::v1::HealthCheckRequest;
  using grpc::health::v1::HealthCheckResponse;
  use(now<HealthCheckRequest, HealthCheckResponse>(
      "/grpc.health.v1.Health/Check", ApiCategory::kHealth, kHealthCall, kThisServer,
      [](ServerAccess& server, const Identity*, const auto&, auto* response) {
        ServerReadyResponse ready;
        Status status = server_ready(server, &ready);
        response->set_status(ready.ready() ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
        return status;
      }));
}

template <class Use>
void for_each_model_method(Use&& use) {
  using namespace inference;
  using namespace method_list_detail;
  use(now<ServerMetadataRequest, ServerMetadataResponse>(
      "/inference.GRPCInferenceService/ServerMetadata", ApiCategory::kMetadata, kOrdinaryCall, kThisServer,
      [](ServerAccess& server, const Identity*, const auto&, auto* response) {
        return server_metadata(server, response);
      }));
  use(now<ModelMetadataRequest, ModelMetadataResponse>(
      "/inference.GRPCInferenceService/ModelMetadata", ApiCategory::kMetadata, kOrdinaryCall, kAModel,
      [](ServerAccess& server, const Identity* caller, const auto& request, auto* response) {
        return model_metadata(server, caller, request, response);
      }));
  use(now<ModelConfigRequest, ModelConfigResponse>(
      "/inference.GRPCInferenceService/ModelConfig", ApiCategory::kModelConfig, kOrdinaryCall, kAModel,
      [](ServerAccess& server, const Identity* caller, const auto& request, auto* response) {
        return model_config(server, caller, request, response);
      }));
  use(now<ModelStatisticsRequest, ModelStatisticsResponse>(
      "/inference.GRPCInferenceService/ModelStatistics", ApiCategory::kStatistics, kOrdinaryCall, kAModel,
      [](ServerAccess& server, const Identity* caller, const auto& request, auto* response) {
        return model_statistics(server, caller, request, response);
      }));
}

template <class Use>
void for_each_repository_method(Use&& use) {
  using namespace inference;
  ListedMethod<RepositoryIndexRequest, RepositoryIndexResponse> index;
  index.path = "/inference.GRPCInferenceService/RepositoryIndex";
  index.category = ApiCategory::kModelRepository;
  index.holds_pass = true;
  index.handle = [](ServerAccess& server, const Identity* caller, const auto& request, auto* response,
                    Finish finish) {
    repository_index(server, caller, request, response, std::move(finish));
  };
  use(index);
  ListedMethod<RepositoryModelLoadRequest, RepositoryModelLoadResponse> load;
  load.path = "/inference.GRPCInferenceService/RepositoryModelLoad";
  load.category = ApiCategory::kModelRepository;
  load.holds_pass = true;
  load.handle = [](ServerAccess& server, const Identity* caller, const auto& request, auto*, Finish finish) {
    repository_load(server, caller, request, std::move(finish));
  };
  use(load);
  ListedMethod<RepositoryModelUnloadRequest, RepositoryModelUnloadResponse> unload;
  unload.path = "/inference.GRPCInferenceService/RepositoryModelUnload";
  unload.category = ApiCategory::kModelRepository;
  unload.holds_pass = true;
  unload.handle = [](ServerAccess& server, const Identity* caller, const auto& request, auto*,
                     Finish finish) { repository_unload(server, caller, request, std::move(finish)); };
  use(unload);
}

template <class Use>
void for_each_shared_memory_method(Use&& use) {
  using namespace inference;
  using namespace method_list_detail;
  constexpr ApiCategory kCategory = ApiCategory::kSharedMemory;
  use(now<SystemSharedMemoryStatusRequest, SystemSharedMemoryStatusResponse>(
      "/inference.GRPCInferenceService/SystemSharedMemoryStatus", kCategory, kOrdinaryCall, kThisServer,
      [](ServerAccess& server, const Identity* caller, const auto& request, auto* response) {
        return system_region_status(server, caller, request, response);
      }));
  use(now<SystemSharedMemoryRegisterRequest, SystemSharedMemoryRegisterResponse>(
      "/inference.GRPCInferenceService/SystemSharedMemoryRegister", kCategory, kOrdinaryCall, kThisServer,
      [](ServerAccess& server, const Identity* caller, const auto& request, auto*) {
        return register_system_region(server, caller, request);
      }));
  use(now<SystemSharedMemoryUnregisterRequest, SystemSharedMemoryUnregisterResponse>(
      "/inference.GRPCInferenceService/SystemSharedMemoryUnregister", kCategory, kOrdinaryCall, kThisServer,
      [](ServerAccess& server, const Identity* caller, const auto& request, auto*) {
        return unregister_system_region(server, caller, request);
      }));
  use(now<CudaSharedMemoryStatusRequest, CudaSharedMemoryStatusResponse>(
      "/inference.GRPCInferenceService/CudaSharedMemoryStatus", kCategory, kOrdinaryCall, kThisServer,
      [](ServerAccess& server, const Identity* caller, const auto& request, auto* response) {
        return cuda_region_status(server, caller, request, response);
      }));
  use(now<CudaSharedMemoryRegisterRequest, CudaSharedMemoryRegisterResponse>(
      "/inference.GRPCInferenceService/CudaSharedMemoryRegister", kCategory, kOrdinaryCall, kThisServer,
      [](ServerAccess& server, const Identity* caller, const auto& request, auto*) {
        return register_cuda_region(server, caller, request);
      }));
  use(now<CudaSharedMemoryUnregisterRequest, CudaSharedMemoryUnregisterResponse>(
      "/inference.GRPCInferenceService/CudaSharedMemoryUnregister", kCategory, kOrdinaryCall, kThisServer,
      [](ServerAccess& server, const Identity* caller, const auto& request, auto*) {
        return unregister_cuda_region(server, caller, request);
      }));
}

template <class Use>
void for_each_settings_method(Use&& use) {
  using namespace inference;
  using namespace method_list_detail;
  use(now<TraceSettingRequest, TraceSettingResponse>(
      "/inference.GRPCInferenceService/TraceSetting", ApiCategory::kTrace, kOrdinaryCall, kThisServer,
      [](ServerAccess& server, const Identity* caller, const auto& request, auto* response) {
        return trace_setting(server, caller, request, response);
      }));
  use(now<LogSettingsRequest, LogSettingsResponse>(
      "/inference.GRPCInferenceService/LogSettings", ApiCategory::kLogging, kOrdinaryCall, kThisServer,
      [](ServerAccess& server, const Identity*, const auto& request, auto* response) {
        return log_settings(server, request, response);
      }));
}

/// Every one of them.
template <class Use>
void for_each_management_method(Use&& use) {
  for_each_health_method(use);
  for_each_model_method(use);
  for_each_repository_method(use);
  for_each_shared_memory_method(use);
  for_each_settings_method(use);
}

}  // namespace atl::frontends
