#include "method_table.h"

#include <utility>

#include "handlers.h"
#include "stream_call.h"
#include "unary_call.h"

/// Asks the service for the next call of a method.
#define ATOLL_ARM(service, Name)                                                                        \
  [this](grpc::ServerContext* context, auto* request, auto* writer, grpc::ServerCompletionQueue& queue, \
         void* tag) { (service).Request##Name(context, request, writer, &queue, &queue, tag); }

namespace atl::frontends::grpc_frontend {

MethodTable::MethodTable(Backplane& backplane, InferenceService& inference, HealthService& health)
    : backplane_(backplane), inference_(inference), health_(health) {
  add_health();
  add_models();
  add_repository();
  add_shared_memory();
  add_settings();
}

void MethodTable::arm(grpc::ServerCompletionQueue& queue) {
  for (const auto& armer : armers_) armer(queue);
  using InferStream = grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
  RefusedStream<InferStream>::arm(
      [this, &queue](grpc::ServerContext* context, grpc::ByteBuffer*, InferStream* stream, void* tag) {
        inference_.RequestModelStreamInfer(context, stream, &queue, &queue, tag);
      },
      "ModelStreamInfer is not available in this server: use ModelInfer");
  using WatchStream = grpc::ServerAsyncWriter<grpc::ByteBuffer>;
  RefusedStream<WatchStream>::arm(
      [this, &queue](grpc::ServerContext* context, grpc::ByteBuffer* request, WatchStream* stream,
                     void* tag) { health_.RequestWatch(context, request, stream, &queue, &queue, tag); },
      "");
}

template <class Request, class Response, class Arm, class Handle>
void MethodTable::add(Arm arm, Handle handle, Gate* gate) {
  // Held by the armer, hence as long as the table; one description a queue, as it names the queue.
  armers_.emplace_back(
      [arm, handle, gate,
       methods = std::make_shared<std::vector<std::unique_ptr<UnaryMethod<Request, Response>>>>()](
          grpc::ServerCompletionQueue& queue) {
        auto method = std::make_unique<UnaryMethod<Request, Response>>();
        method->arm = [arm, &queue](grpc::ServerContext* context, Request* request, auto* writer, void* tag) {
          arm(context, request, writer, queue, tag);
        };
        method->handle = handle;
        method->gate = gate;
        methods->push_back(std::move(method));
        UnaryCall<Request, Response>::arm(*methods->back());
      });
}

template <class Request, class Response, class Arm>
void MethodTable::add_refused(Arm arm, Code code, std::string_view text) {
  add<Request, Response>(
      arm, [code, text](const Request&, Response*, const Finish& finish) { finish(make_status(code, text)); },
      nullptr);
}

void MethodTable::add_health() {
  using grpc::health::v1::HealthCheckRequest;
  using grpc::health::v1::HealthCheckResponse;
  add<inference::ServerLiveRequest, inference::ServerLiveResponse>(
      ATOLL_ARM(inference_, ServerLive),
      [this](const auto&, auto* response, const Finish& finish) {
        finish(server_live(backplane_, response));
      },
      nullptr);
  add<inference::ServerReadyRequest, inference::ServerReadyResponse>(
      ATOLL_ARM(inference_, ServerReady),
      [this](const auto&, auto* response, const Finish& finish) {
        finish(server_ready(backplane_, response));
      },
      nullptr);
  add<inference::ModelReadyRequest, inference::ModelReadyResponse>(
      ATOLL_ARM(inference_, ModelReady),
      [this](const auto& request, auto* response, const Finish& finish) {
        finish(model_ready(backplane_, request, response));
      },
      nullptr);
  add<HealthCheckRequest, HealthCheckResponse>(
      ATOLL_ARM(health_, Check),
      [this](const auto&, auto* response, const Finish& finish) {
        inference::ServerReadyResponse ready;
        Status status = server_ready(backplane_, &ready);
        response->set_status(ready.ready() ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
        finish(std::move(status));
      },
      nullptr);
}

void MethodTable::add_models() {
  Gate* gate = &backplane_.host.gate();
  add<inference::ServerMetadataRequest, inference::ServerMetadataResponse>(
      ATOLL_ARM(inference_, ServerMetadata),
      [this](const auto&, auto* response, const Finish& finish) {
        finish(server_metadata(backplane_, response));
      },
      gate);
  add<inference::ModelMetadataRequest, inference::ModelMetadataResponse>(
      ATOLL_ARM(inference_, ModelMetadata),
      [this](const auto& request, auto* response, const Finish& finish) {
        finish(model_metadata(backplane_, request, response));
      },
      gate);
  add<inference::ModelConfigRequest, inference::ModelConfigResponse>(
      ATOLL_ARM(inference_, ModelConfig),
      [this](const auto& request, auto* response, const Finish& finish) {
        finish(model_config(backplane_, request, response));
      },
      gate);
  add<inference::ModelStatisticsRequest, inference::ModelStatisticsResponse>(
      ATOLL_ARM(inference_, ModelStatistics),
      [this](const auto& request, auto* response, const Finish& finish) {
        finish(model_statistics(backplane_, request, response));
      },
      gate);
}

void MethodTable::add_repository() {
  Gate* gate = &backplane_.host.gate();
  add<inference::RepositoryIndexRequest, inference::RepositoryIndexResponse>(
      ATOLL_ARM(inference_, RepositoryIndex),
      [this](const auto& request, auto* response, Finish finish) {
        repository_index(backplane_, request, response, std::move(finish));
      },
      gate);
  add<inference::RepositoryModelLoadRequest, inference::RepositoryModelLoadResponse>(
      ATOLL_ARM(inference_, RepositoryModelLoad),
      [this](const auto& request, auto*, Finish finish) {
        repository_load(backplane_, request, std::move(finish));
      },
      gate);
  add<inference::RepositoryModelUnloadRequest, inference::RepositoryModelUnloadResponse>(
      ATOLL_ARM(inference_, RepositoryModelUnload),
      [this](const auto& request, auto*, Finish finish) {
        repository_unload(backplane_, request, std::move(finish));
      },
      gate);
}

void MethodTable::add_shared_memory() {
  using namespace inference;
  constexpr Code kRefused = Code::kUnimplemented;
  add<SystemSharedMemoryStatusRequest, SystemSharedMemoryStatusResponse>(
      ATOLL_ARM(inference_, SystemSharedMemoryStatus),
      [](const auto& request, auto*, const Finish& finish) {
        finish(shared_memory_status(request.name(), "system"));
      },
      nullptr);
  add<CudaSharedMemoryStatusRequest, CudaSharedMemoryStatusResponse>(
      ATOLL_ARM(inference_, CudaSharedMemoryStatus),
      [](const auto& request, auto*, const Finish& finish) {
        finish(shared_memory_status(request.name(), "cuda"));
      },
      nullptr);
  add_refused<SystemSharedMemoryRegisterRequest, SystemSharedMemoryRegisterResponse>(
      ATOLL_ARM(inference_, SystemSharedMemoryRegister), kRefused, messages::kSharedMemoryDisabled);
  add_refused<SystemSharedMemoryUnregisterRequest, SystemSharedMemoryUnregisterResponse>(
      ATOLL_ARM(inference_, SystemSharedMemoryUnregister), kRefused, messages::kSharedMemoryDisabled);
  add_refused<CudaSharedMemoryRegisterRequest, CudaSharedMemoryRegisterResponse>(
      ATOLL_ARM(inference_, CudaSharedMemoryRegister), kRefused, messages::kSharedMemoryDisabled);
  add_refused<CudaSharedMemoryUnregisterRequest, CudaSharedMemoryUnregisterResponse>(
      ATOLL_ARM(inference_, CudaSharedMemoryUnregister), kRefused, messages::kSharedMemoryDisabled);
}

void MethodTable::add_settings() {
  add_refused<inference::TraceSettingRequest, inference::TraceSettingResponse>(
      ATOLL_ARM(inference_, TraceSetting), Code::kUnimplemented,
      "TraceSetting is not available: this server has no trace service");
  add_refused<inference::LogSettingsRequest, inference::LogSettingsResponse>(
      ATOLL_ARM(inference_, LogSettings), Code::kUnimplemented,
      "LogSettings is not available: this server has no log settings service");
}

}  // namespace atl::frontends::grpc_frontend

#undef ATOLL_ARM
