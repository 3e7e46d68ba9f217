/// What the management calls answer, whatever the transport: one function a call, from message to message.
/// Transports bring requests into these messages and the answers onto their wire.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/followed_service.h"
#include "atoll/core/host.h"
#include "atoll/core/log_control.h"
#include "atoll/gpu/device_memory.h"
#include "atoll/lib/log_interval.h"
#include "atoll/memory/shared_memory.h"
#include "atoll/models/model.h"
#include "atoll/models/model_control.h"
#include "atoll/pools/remote_models.h"
#include "atoll/request/tracing.h"
#include "frontends/common/access/access_check.h"
#include "frontends/common/call/request_budgets.h"
#include "frontends/common/call/router_slot.h"

// Declared, not included: most users of this header need no message, and the generated header is the largest of all.
namespace inference {
class CudaSharedMemoryRegisterRequest;
class CudaSharedMemoryStatusRequest;
class CudaSharedMemoryStatusResponse;
class CudaSharedMemoryUnregisterRequest;
class LogSettingsRequest;
class LogSettingsResponse;
class ModelConfigRequest;
class ModelConfigResponse;
class ModelMetadataRequest;
class ModelMetadataResponse;
class ModelReadyRequest;
class ModelReadyResponse;
class ModelStatisticsRequest;
class ModelStatisticsResponse;
class RepositoryIndexRequest;
class RepositoryIndexResponse;
class RepositoryModelLoadRequest;
class RepositoryModelUnloadRequest;
class ServerLiveResponse;
class ServerMetadataResponse;
class ServerReadyResponse;
class SystemSharedMemoryRegisterRequest;
class SystemSharedMemoryStatusRequest;
class SystemSharedMemoryStatusResponse;
class SystemSharedMemoryUnregisterRequest;
class TraceSettingRequest;
class TraceSettingResponse;
}  // namespace inference

namespace atl::frontends {

/// Ends a call. [any], once.
using Finish = std::function<void(Status)>;

/// The services behind a frontend. Lives from start to stop.
struct ServerAccess {
  /// Acquires what is there. Errors: no model catalog; no thread to be had.
  static Result<ServerAccess> open(Host& host) noexcept;
  /// Only catalog and router, for calls about models of this server that are answered on the caller's thread; all else
  /// stays null. Errors: no model catalog.
  static Result<ServerAccess> open_models(Host& host) noexcept;

  Host* host = nullptr;
  std::string server_name;  ///< of the metadata; by the frontend's option
  Service<ModelCatalog> catalog;
  // What comes and goes while the server runs; after open() none of the pointers is null.
  std::unique_ptr<RouterSlot> router;  ///< labels and routes
  std::unique_ptr<AccessPoint> access;
  std::unique_ptr<Followed<SharedMemory>> shared_memory;
  std::unique_ptr<DeviceMemory> device_memory;
  std::unique_ptr<Followed<Tracing>> tracing;
  std::unique_ptr<Followed<LogControl>> log_control;
  std::unique_ptr<Followed<RemoteModels>> remote_models;
  /// Of failures of TLS with other servers.
  std::unique_ptr<LogInterval> remote_tls_told = std::make_unique<LogInterval>(60 * kNsPerSecond);
  std::unique_ptr<RequestBudgets> request_memory;
  /// For what looks at the disk or reads large bodies: no thread that answers requests waits for it, and it
  /// does not wait for models that are being built.
  SerialExecutorPtr worker;
};

// In all of these `caller` may be null: there are no identities, and all may be seen. A model that the caller may not see
// is answered as one that is not there.

// --- health and metadata ---
Status server_live(ServerAccess& server, inference::ServerLiveResponse* response) noexcept;
Status server_ready(ServerAccess& server, inference::ServerReadyResponse* response) noexcept;
Status model_ready(ServerAccess& server, const Identity* caller, const inference::ModelReadyRequest& request,
                   inference::ModelReadyResponse* response) noexcept;
Status server_metadata(ServerAccess& server, inference::ServerMetadataResponse* response) noexcept;
Status model_metadata(ServerAccess& server, const Identity* caller,
                      const inference::ModelMetadataRequest& request,
                      inference::ModelMetadataResponse* response) noexcept;
Status model_config(ServerAccess& server, const Identity* caller,
                    const inference::ModelConfigRequest& request,
                    inference::ModelConfigResponse* response) noexcept;
Status model_statistics(ServerAccess& server, const Identity* caller,
                        const inference::ModelStatisticsRequest& request,
                        inference::ModelStatisticsResponse* response) noexcept;

// --- repository ---
/// What repository_index() answers: the models that the caller may see. [worker] \param caller  null: there are no identities
Status list_models(ServerAccess& server, const Identity* caller, bool ready_only,
                   inference::RepositoryIndexResponse* response) noexcept;
// These answer later. The caller keeps `server`, `caller` and `response` until then.
void repository_index(ServerAccess& server, const Identity* caller,
                      const inference::RepositoryIndexRequest& request,
                      inference::RepositoryIndexResponse* response, Finish finish) noexcept;
/// Errors: PERMISSION_DENIED too, of any name that the caller may not load, or not with files or a configuration.
void repository_load(ServerAccess& server, const Identity* caller,
                     const inference::RepositoryModelLoadRequest& request, Finish finish) noexcept;
void repository_unload(ServerAccess& server, const Identity* caller,
                       const inference::RepositoryModelUnloadRequest& request, Finish finish) noexcept;

// --- shared memory; of the regions of the caller's owner_of() ---
Status system_region_status(ServerAccess& server, const Identity* caller,
                            const inference::SystemSharedMemoryStatusRequest& request,
                            inference::SystemSharedMemoryStatusResponse* response) noexcept;
Status register_system_region(ServerAccess& server, const Identity* caller,
                              const inference::SystemSharedMemoryRegisterRequest& request) noexcept;
Status unregister_system_region(ServerAccess& server, const Identity* caller,
                                const inference::SystemSharedMemoryUnregisterRequest& request) noexcept;
Status cuda_region_status(ServerAccess& server, const Identity* caller,
                          const inference::CudaSharedMemoryStatusRequest& request,
                          inference::CudaSharedMemoryStatusResponse* response) noexcept;
Status register_cuda_region(ServerAccess& server, const Identity* caller,
                            const inference::CudaSharedMemoryRegisterRequest& request) noexcept;
Status unregister_cuda_region(ServerAccess& server, const Identity* caller,
                              const inference::CudaSharedMemoryUnregisterRequest& request) noexcept;

// --- settings: apply the changes, if there are any, and answer with what holds then ---
/// The answer as a list too, because a map has no order and one of the wires does.
Status trace_setting(ServerAccess& server, const Identity* caller, const std::string& model,
                     const std::vector<TraceSetting>& changes, std::vector<TraceSetting>* effective) noexcept;
Status trace_setting(ServerAccess& server, const Identity* caller,
                     const inference::TraceSettingRequest& request,
                     inference::TraceSettingResponse* response) noexcept;
Status log_settings(ServerAccess& server, const inference::LogSettingsRequest& request,
                    inference::LogSettingsResponse* response) noexcept;

}  // namespace atl::frontends
