#include "frontends/grpc/calls/reflection_call.h"

#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/server_builder.h>

#include <string_view>
#include <utility>

#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/grpc/message_limit.h"
#include "frontends/grpc/calls/decompress.h"
#include "frontends/grpc/calls/error_text.h"

namespace atl::frontends::grpc_frontend {

ReflectionService::ReflectionService(const char* path) : path_(path) {
  AddMethod(new grpc::internal::RpcServiceMethod(path, grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRaw(0);
}

ReflectionCalls::ReflectionCalls(GrpcCallContext& shared) : frontend(shared) {
  if (shared.reflection == nullptr) return;
  for (const char* path : kReflectionPaths) services.emplace_back(path);
}

void ReflectionCalls::add_to(grpc::ServerBuilder& builder) {
  for (ReflectionService& service : services) builder.RegisterService(&service);
}

void ReflectionCalls::arm(grpc::ServerCompletionQueue& queue) {
  for (ReflectionService& service : services) ReflectionCall::arm(*this, service, queue);
}

void ReflectionCall::arm(ReflectionCalls& calls, ReflectionService& service,
                         grpc::ServerCompletionQueue& queue) {
  auto* call = new ReflectionCall(calls, service, queue);
  service.request(&call->context_, &call->stream_, &queue, call->start_.tag());
}

void ReflectionCall::on_start(bool ok) {
  if (!ok) {
    delete this;  // the server shuts down: there is no call
    return;
  }
  calls_.open.fetch_add(1);
  arm(calls_, service_, queue_);
  const AccessPoint& access = *calls_.frontend.server.access;
  if (access_.ask(access, {{}, service_.path()}, ApiCategory::kMetadata, context_, queue_, settled_))
    on_settled(true);
}

void ReflectionCall::on_settled(bool) {
  std::string_view caller;
  const Status refusal = access_.take(&caller);
  (void)access_.take_identity();
  if (!refusal.ok()) return finish(to_grpc(refusal));
  stream_.Read(&question_, read_.tag());
}

void ReflectionCall::on_read(bool ok) {
  if (!ok) return finish(grpc::Status::OK);
  Result<std::string> answered = answer();
  if (!answered.ok()) return finish(to_grpc(answered.status()));
  const grpc::Slice slice(answered.value());
  stream_.Write(grpc::ByteBuffer(&slice, 1), written_.tag());
}

Result<std::string> ReflectionCall::answer() noexcept {
  // It holds no pass: an idle stream is to hold up no drain.
  if (calls_.frontend.calls.closed()) return unavailable(messages::kGrpcShuttingDown);
  ATOLL_RETURN_IF_ERROR(open_message(&question_, kMostReflectionBytes));
  if (question_.Length() > kMostReflectionBytes) {
    return make_status(Code::kResourceExhausted, "Received message larger than max (", question_.Length(),
                       " vs. ", kMostReflectionBytes, ")");
  }
  grpc::Slice slice;
  if (question_.Valid() && !question_.DumpToSingleSlice(&slice).ok()) {
    return internal_error("the question's bytes cannot be read");
  }
  Result<std::string> answered = calls_.frontend.reflection->answer({slice.begin(), slice.size()});
  if (answered.ok() && answered->size() > kUncountedAnswerBytes) {
    ATOLL_RETURN_IF_ERROR(charge_.add(answered->size()));
  }
  return answered;
}

void ReflectionCall::on_written(bool ok) {
  if (!ok) return finish(grpc::Status::CANCELLED);
  question_.Clear();
  charge_.release();
  stream_.Read(&question_, read_.tag());
}

void ReflectionCall::finish(const grpc::Status& status) noexcept {
  access_.set_status(status.error_code());
  stream_.Finish(status, finished_.tag());
}

void ReflectionCall::on_finished(bool) {
  std::atomic<int64_t>& open = calls_.open;
  delete this;
  open.fetch_sub(1);
}

}  // namespace atl::frontends::grpc_frontend
