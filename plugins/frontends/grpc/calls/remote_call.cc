#include "frontends/grpc/calls/remote_call.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "frontends/common/management/remote_server.h"

namespace atl::frontends::grpc_frontend {

void pass_on(const grpc::ServerContext& from, grpc::ClientContext* to) {
  for (const auto& [key, value] : from.client_metadata()) {
    const std::string_view name(key.data(), key.size());
    if (name.starts_with("grpc-") || name.starts_with(":") || name == "content-type" || !is_passed_on(name))
      continue;
    to->AddMetadata(std::string(name), std::string(value.data(), value.size()));
  }
  to->set_deadline(from.raw_deadline());
}

void pass_back(const grpc::ClientContext& from, grpc::ServerContext* to) {
  for (const auto& [key, value] : from.GetServerTrailingMetadata()) {
    to->AddTrailingMetadata(std::string(key.data(), key.size()), std::string(value.data(), value.size()));
  }
}

RemoteCall::RemoteCall(std::shared_ptr<grpc::GenericStub> stub, const grpc::ServerContext& call,
                       std::optional<std::chrono::seconds> longest)
    : stub_(std::move(stub)) {
  grpc_frontend::pass_on(call, &context_);
  if (longest) context_.set_deadline(std::min(call.deadline(), std::chrono::system_clock::now() + *longest));
}

void RemoteCall::start(const char* method, const grpc::ByteBuffer& request, grpc::CompletionQueue& queue,
                       Event& done) {
  reader_ = stub_->PrepareUnaryCall(&context_, method, request, &queue);
  reader_->StartCall();
  reader_->Finish(&answer_, &status_, done.tag());
}

}  // namespace atl::frontends::grpc_frontend
