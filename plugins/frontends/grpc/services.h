/// The gRPC services as this frontend serves them: all with raw bytes, so that compressed messages are opened
/// within their limit, and all asynchronous. (A method left synchronous would make gRPC start threads of its
/// own.)
#pragma once

#include "grpc_service.grpc.pb.h"
#include "health.grpc.pb.h"

namespace atl::frontends::grpc_frontend {

using Inference = inference::GRPCInferenceService;

template <class Base>
using WithHealth = Inference::WithRawMethod_ServerLive<Inference::WithRawMethod_ServerReady<
    Inference::WithRawMethod_ModelReady<Inference::WithRawMethod_ServerMetadata<Base>>>>;

template <class Base>
using WithModels = Inference::WithRawMethod_ModelMetadata<
    Inference::WithRawMethod_ModelConfig<Inference::WithRawMethod_ModelStatistics<Base>>>;

template <class Base>
using WithRepository = Inference::WithRawMethod_RepositoryIndex<
    Inference::WithRawMethod_RepositoryModelLoad<Inference::WithRawMethod_RepositoryModelUnload<Base>>>;

template <class Base>
using WithSystemSharedMemory =
    Inference::WithRawMethod_SystemSharedMemoryStatus<Inference::WithRawMethod_SystemSharedMemoryRegister<
        Inference::WithRawMethod_SystemSharedMemoryUnregister<Base>>>;

template <class Base>
using WithCudaSharedMemory =
    Inference::WithRawMethod_CudaSharedMemoryStatus<Inference::WithRawMethod_CudaSharedMemoryRegister<
        Inference::WithRawMethod_CudaSharedMemoryUnregister<Base>>>;

template <class Base>
using WithSettings = Inference::WithRawMethod_TraceSetting<Inference::WithRawMethod_LogSettings<Base>>;

template <class Base>
using WithInference = Inference::WithRawMethod_ModelInfer<Inference::WithRawMethod_ModelStreamInfer<Base>>;

using InferenceService = WithInference<WithSettings<WithCudaSharedMemory<
    WithSystemSharedMemory<WithRepository<WithModels<WithHealth<Inference::Service>>>>>>>;

using Health = grpc::health::v1::Health;
using HealthService = Health::WithRawMethod_Watch<Health::WithRawMethod_Check<Health::Service>>;

}  // namespace atl::frontends::grpc_frontend
