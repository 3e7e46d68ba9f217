#include "frontends/grpc/calls/method_table.h"

#include <utility>

#include "frontends/grpc/calls/stream_call.h"
#include "frontends/grpc/calls/unary_call.h"

namespace atl::frontends::grpc_frontend {
namespace {

/// Where gRPC is asked for the next call of a method.
struct NextCall {
  grpc::ServerContext* context;
  grpc::ByteBuffer* request;
  RawWriter* writer;
  grpc::ServerCompletionQueue* queue;
  void* tag;
};

/// By the type of the method's request: gRPC has a function for each.
#define ATOLL_ARM(Service, Name, Message)                                                             \
  void arm_call(Service& service, const Message*, const NextCall& next) {                             \
    service.Request##Name(next.context, next.request, next.writer, next.queue, next.queue, next.tag); \
  }
#define ATOLL_ARM_INFERENCE(Name) ATOLL_ARM(InferenceService, Name, inference::Name##Request)

ATOLL_ARM_INFERENCE(ServerLive)
ATOLL_ARM_INFERENCE(ServerReady)
ATOLL_ARM_INFERENCE(ModelReady)
ATOLL_ARM_INFERENCE(ServerMetadata)
ATOLL_ARM_INFERENCE(ModelMetadata)
ATOLL_ARM_INFERENCE(ModelConfig)
ATOLL_ARM_INFERENCE(ModelStatistics)
ATOLL_ARM_INFERENCE(RepositoryIndex)
ATOLL_ARM_INFERENCE(RepositoryModelLoad)
ATOLL_ARM_INFERENCE(RepositoryModelUnload)
ATOLL_ARM_INFERENCE(SystemSharedMemoryStatus)
ATOLL_ARM_INFERENCE(SystemSharedMemoryRegister)
ATOLL_ARM_INFERENCE(SystemSharedMemoryUnregister)
ATOLL_ARM_INFERENCE(CudaSharedMemoryStatus)
ATOLL_ARM_INFERENCE(CudaSharedMemoryRegister)
ATOLL_ARM_INFERENCE(CudaSharedMemoryUnregister)
ATOLL_ARM_INFERENCE(TraceSetting)
ATOLL_ARM_INFERENCE(LogSettings)
ATOLL_ARM(HealthService, Check, grpc::health::v1::HealthCheckRequest)

#undef ATOLL_ARM_INFERENCE
#undef ATOLL_ARM

}  // namespace

MethodTable::MethodTable(GrpcCallContext& frontend, InferenceService& inference, HealthService& health)
    : frontend_(frontend), inference_(inference), health_(health) {
  for_each_management_method([this](const auto& method) { add(method); });
}

void MethodTable::arm(grpc::ServerCompletionQueue& queue, RemoteChannels& channels) {
  for (const auto& armer : armers_) armer(queue, channels);
  using WatchStream = grpc::ServerAsyncWriter<grpc::ByteBuffer>;
  RefusedStream<WatchStream>::arm(
      [this, &queue](grpc::ServerContext* context, grpc::ByteBuffer* request, WatchStream* stream,
                     void* tag) { health_.RequestWatch(context, request, stream, &queue, &queue, tag); },
      "");
}

template <class Request, class Response>
void MethodTable::add(const ListedMethod<Request, Response>& listed) {
  using Armed = UnaryMethod<Request, Response>;
  // Held by the armer, hence as long as the table; one description a queue, as it names the queue.
  auto all = std::make_shared<std::vector<std::unique_ptr<Armed>>>();
  armers_.emplace_back([this, listed, all](grpc::ServerCompletionQueue& queue, RemoteChannels& channels) {
    auto method = std::make_unique<Armed>();
    method->method = listed;
    method->arm = [this, &queue](grpc::ServerContext* context, grpc::ByteBuffer* request, RawWriter* writer,
                                 void* tag) {
      const NextCall next{context, request, writer, &queue, tag};
      if constexpr (std::is_same_v<Request, grpc::health::v1::HealthCheckRequest>) {
        arm_call(health_, static_cast<const Request*>(nullptr), next);
      } else {
        arm_call(inference_, static_cast<const Request*>(nullptr), next);
      }
    };
    method->frontend = &frontend_;
    method->queue = &queue;
    method->max_bytes = listed.max_bytes(static_cast<uint64_t>(frontend_.settings.max_message_bytes));
    method->channels = &channels;
    all->push_back(std::move(method));
    UnaryCall<Request, Response>::arm(*all->back());
  });
}

}  // namespace atl::frontends::grpc_frontend
