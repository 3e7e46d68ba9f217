#include "frontends/grpc/method_table.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "frontends/common/management/management.h"
#include "frontends/grpc/stream_call.h"
#include "frontends/grpc/unary_call.h"

/// Asks the service for the next call of a method.
#define ATOLL_ARM(service, Name)                                                     \
  [this](grpc::ServerContext* context, grpc::ByteBuffer* request, RawWriter* writer, \
         grpc::ServerCompletionQueue& queue,                                         \
         void* tag) { (service).Request##Name(context, request, writer, &queue, &queue, tag); }

namespace atl::frontends::grpc_frontend {
namespace {

/// Of a request that brings no files.
constexpr uint64_t kMostOrdinaryBytes = uint64_t{1} << 20;
/// Whether a call holds a pass of the gate, and so is refused while the instance drains.
constexpr bool kHealthCall = false;
constexpr bool kOrdinaryCall = true;

}  // namespace

MethodTable::MethodTable(GrpcContext& frontend, InferenceService& inference, HealthService& health)
    : frontend_(frontend), inference_(inference), health_(health) {
  add_health();
  add_models();
  add_repository();
  add_shared_memory();
  add_settings();
}

void MethodTable::arm(grpc::ServerCompletionQueue& queue, RemoteChannels& channels) {
  for (const auto& armer : armers_) armer(queue, channels);
  using WatchStream = grpc::ServerAsyncWriter<grpc::ByteBuffer>;
  RefusedStream<WatchStream>::arm(
      [this, &queue](grpc::ServerContext* context, grpc::ByteBuffer* request, WatchStream* stream,
                     void* tag) { health_.RequestWatch(context, request, stream, &queue, &queue, tag); },
      "");
}

/// \param path  of a method about a model; null: of one about this server
template <class Request, class Response, class Arm, class Handle>
void MethodTable::add(Arm arm, ApiCategory category, bool holds_pass, Handle handle, const char* path) {
  // Held by the armer, hence as long as the table; one description a queue, as it names the queue.
  armers_.emplace_back([this, arm, handle, category, holds_pass, path,
                        methods =
                            std::make_shared<std::vector<std::unique_ptr<UnaryMethod<Request, Response>>>>()](
                           grpc::ServerCompletionQueue& queue, RemoteChannels& channels) {
    auto method = std::make_unique<UnaryMethod<Request, Response>>();
    method->arm = [arm, &queue](grpc::ServerContext* context, grpc::ByteBuffer* request, RawWriter* writer,
                                void* tag) { arm(context, request, writer, queue, tag); };
    method->handle = handle;
    method->frontend = &frontend_;
    method->queue = &queue;
    method->category = category;
    method->holds_pass = holds_pass;
    // Only loads bring files. Objects made of many small fields take many times what these take on the wire.
    constexpr bool kBringsFiles = std::is_same_v<Request, inference::RepositoryModelLoadRequest>;
    const auto most = static_cast<uint64_t>(frontend_.settings.max_message_bytes);
    method->counts_memory = kBringsFiles;
    method->max_bytes = kBringsFiles ? most : std::min(most, kMostOrdinaryBytes);
    method->path = path;
    method->channels = &channels;
    if constexpr (requires(const Request& request) { request.name(); }) {
      if (path != nullptr)
        method->model = [](const Request& request) { return std::string_view(request.name()); };
    }
    methods->push_back(std::move(method));
    UnaryCall<Request, Response>::arm(*methods->back());
  });
}

void MethodTable::add_health() {
  using grpc::health::v1::HealthCheckRequest;
  using grpc::health::v1::HealthCheckResponse;
  add<inference::ServerLiveRequest, inference::ServerLiveResponse>(
      ATOLL_ARM(inference_, ServerLive), ApiCategory::kHealth, kHealthCall,
      [this](const auto&, auto* response, const Finish& finish) {
        finish(server_live(frontend_.server, response));
      });
  add<inference::ServerReadyRequest, inference::ServerReadyResponse>(
      ATOLL_ARM(inference_, ServerReady), ApiCategory::kHealth, kHealthCall,
      [this](const auto&, auto* response, const Finish& finish) {
        finish(server_ready(frontend_.server, response));
      });
  add<inference::ModelReadyRequest, inference::ModelReadyResponse>(
      ATOLL_ARM(inference_, ModelReady), ApiCategory::kHealth, kHealthCall,
      [this](const auto& request, auto* response, const Finish& finish) {
        finish(model_ready(frontend_.server, request, response));
      },
      "/inference.GRPCInferenceService/ModelReady");
  add<HealthCheckRequest, HealthCheckResponse>(
      ATOLL_ARM(health_, Check), ApiCategory::kHealth, kHealthCall,
      [this](const auto&, auto* response, const Finish& finish) {
        inference::ServerReadyResponse ready;
        Status status = server_ready(frontend_.server, &ready);
        response->set_status(ready.ready() ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
        finish(std::move(status));
      });
}

void MethodTable::add_models() {
  add<inference::ServerMetadataRequest, inference::ServerMetadataResponse>(
      ATOLL_ARM(inference_, ServerMetadata), ApiCategory::kMetadata, kOrdinaryCall,
      [this](const auto&, auto* response, const Finish& finish) {
        finish(server_metadata(frontend_.server, response));
      });
  add<inference::ModelMetadataRequest, inference::ModelMetadataResponse>(
      ATOLL_ARM(inference_, ModelMetadata), ApiCategory::kMetadata, kOrdinaryCall,
      [this](const auto& request, auto* response, const Finish& finish) {
        finish(model_metadata(frontend_.server, request, response));
      },
      "/inference.GRPCInferenceService/ModelMetadata");
  add<inference::ModelConfigRequest, inference::ModelConfigResponse>(
      ATOLL_ARM(inference_, ModelConfig), ApiCategory::kModelConfig, kOrdinaryCall,
      [this](const auto& request, auto* response, const Finish& finish) {
        finish(model_config(frontend_.server, request, response));
      },
      "/inference.GRPCInferenceService/ModelConfig");
  add<inference::ModelStatisticsRequest, inference::ModelStatisticsResponse>(
      ATOLL_ARM(inference_, ModelStatistics), ApiCategory::kStatistics, kOrdinaryCall,
      [this](const auto& request, auto* response, const Finish& finish) {
        finish(model_statistics(frontend_.server, request, response));
      },
      "/inference.GRPCInferenceService/ModelStatistics");
}

void MethodTable::add_repository() {
  add<inference::RepositoryIndexRequest, inference::RepositoryIndexResponse>(
      ATOLL_ARM(inference_, RepositoryIndex), ApiCategory::kModelRepository, kOrdinaryCall,
      [this](const auto& request, auto* response, Finish finish) {
        repository_index(frontend_.server, request, response, std::move(finish));
      });
  add<inference::RepositoryModelLoadRequest, inference::RepositoryModelLoadResponse>(
      ATOLL_ARM(inference_, RepositoryModelLoad), ApiCategory::kModelRepository, kOrdinaryCall,
      [this](const auto& request, auto*, Finish finish) {
        repository_load(frontend_.server, request, std::move(finish));
      });
  add<inference::RepositoryModelUnloadRequest, inference::RepositoryModelUnloadResponse>(
      ATOLL_ARM(inference_, RepositoryModelUnload), ApiCategory::kModelRepository, kOrdinaryCall,
      [this](const auto& request, auto*, Finish finish) {
        repository_unload(frontend_.server, request, std::move(finish));
      });
}

void MethodTable::add_shared_memory() {
  using namespace inference;
  add<SystemSharedMemoryStatusRequest, SystemSharedMemoryStatusResponse>(
      ATOLL_ARM(inference_, SystemSharedMemoryStatus), ApiCategory::kSharedMemory, kOrdinaryCall,
      [this](const auto& request, auto* response, const Finish& finish) {
        finish(system_region_status(frontend_.server, request, response));
      });
  add<SystemSharedMemoryRegisterRequest, SystemSharedMemoryRegisterResponse>(
      ATOLL_ARM(inference_, SystemSharedMemoryRegister), ApiCategory::kSharedMemory, kOrdinaryCall,
      [this](const auto& request, auto*, const Finish& finish) {
        finish(register_system_region(frontend_.server, request));
      });
  add<SystemSharedMemoryUnregisterRequest, SystemSharedMemoryUnregisterResponse>(
      ATOLL_ARM(inference_, SystemSharedMemoryUnregister), ApiCategory::kSharedMemory, kOrdinaryCall,
      [this](const auto& request, auto*, const Finish& finish) {
        finish(unregister_system_region(frontend_.server, request));
      });
  add<CudaSharedMemoryStatusRequest, CudaSharedMemoryStatusResponse>(
      ATOLL_ARM(inference_, CudaSharedMemoryStatus), ApiCategory::kSharedMemory, kOrdinaryCall,
      [this](const auto& request, auto* response, const Finish& finish) {
        finish(cuda_region_status(frontend_.server, request, response));
      });
  add<CudaSharedMemoryRegisterRequest, CudaSharedMemoryRegisterResponse>(
      ATOLL_ARM(inference_, CudaSharedMemoryRegister), ApiCategory::kSharedMemory, kOrdinaryCall,
      [this](const auto& request, auto*, const Finish& finish) {
        finish(register_cuda_region(frontend_.server, request));
      });
  add<CudaSharedMemoryUnregisterRequest, CudaSharedMemoryUnregisterResponse>(
      ATOLL_ARM(inference_, CudaSharedMemoryUnregister), ApiCategory::kSharedMemory, kOrdinaryCall,
      [this](const auto& request, auto*, const Finish& finish) {
        finish(unregister_cuda_region(frontend_.server, request));
      });
}

void MethodTable::add_settings() {
  add<inference::TraceSettingRequest, inference::TraceSettingResponse>(
      ATOLL_ARM(inference_, TraceSetting), ApiCategory::kTrace, kOrdinaryCall,
      [this](const auto& request, auto* response, const Finish& finish) {
        finish(trace_setting(frontend_.server, request, response));
      });
  add<inference::LogSettingsRequest, inference::LogSettingsResponse>(
      ATOLL_ARM(inference_, LogSettings), ApiCategory::kLogging, kOrdinaryCall,
      [this](const auto& request, auto* response, const Finish& finish) {
        finish(log_settings(frontend_.server, request, response));
      });
}

}  // namespace atl::frontends::grpc_frontend

#undef ATOLL_ARM
