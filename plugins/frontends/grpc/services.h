/// The gRPC services as this frontend serves them: inference with raw bytes, everything else with messages,
/// all of it asynchronous. (A method left synchronous would make gRPC start threads of its own.)
#pragma once

#include "grpc_service.grpc.pb.h"
#include "health.grpc.pb.h"

namespace atl::frontends::grpc_frontend {

using Inference = inference::GRPCInferenceService;

template <class Base>
using WithHealth = Inference::WithAsyncMethod_ServerLive<Inference::WithAsyncMethod_ServerReady<
    Inference::WithAsyncMethod_ModelReady<Inference::WithAsyncMethod_ServerMetadata<Base>>>>;

template <class Base>
using WithModels = Inference::WithAsyncMethod_ModelMetadata<
    Inference::WithAsyncMethod_ModelConfig<Inference::WithAsyncMethod_ModelStatistics<Base>>>;

template <class Base>
using WithRepository = Inference::WithAsyncMethod_RepositoryIndex<
    Inference::WithAsyncMethod_RepositoryModelLoad<Inference::WithAsyncMethod_RepositoryModelUnload<Base>>>;

template <class Base>
using WithSystemSharedMemory =
    Inference::WithAsyncMethod_SystemSharedMemoryStatus<Inference::WithAsyncMethod_SystemSharedMemoryRegister<
        Inference::WithAsyncMethod_SystemSharedMemoryUnregister<Base>>>;

template <class Base>
using WithCudaSharedMemory =
    Inference::WithAsyncMethod_CudaSharedMemoryStatus<Inference::WithAsyncMethod_CudaSharedMemoryRegister<
        Inference::WithAsyncMethod_CudaSharedMemoryUnregister<Base>>>;

template <class Base>
using WithSettings = Inference::WithAsyncMethod_TraceSetting<Inference::WithAsyncMethod_LogSettings<Base>>;

template <class Base>
using WithInference = Inference::WithRawMethod_ModelInfer<Inference::WithRawMethod_ModelStreamInfer<Base>>;

using InferenceService = WithInference<WithSettings<WithCudaSharedMemory<
    WithSystemSharedMemory<WithRepository<WithModels<WithHealth<Inference::Service>>>>>>>;

using Health = grpc::health::v1::Health;
using HealthService = Health::WithRawMethod_Watch<Health::WithAsyncMethod_Check<Health::Service>>;

}  // namespace atl::frontends::grpc_frontend
