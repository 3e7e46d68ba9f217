#include "infer_call.h"

#include <grpc/slice.h>
#include <grpc/support/time.h>

#include <cstdlib>
#include <limits>
#include <utility>

#include "common/classification.h"
#include "common/model_version.h"
#include "common/v2_infer_response.h"
#include "common/wire_messages.h"

namespace atl::frontends::grpc_frontend {
namespace {

/// Contexts that wait in a queue's pool at most; more calls in flight make more, which are freed afterwards.
constexpr size_t kPooledCalls = 256;
/// Tensors up to this size are copied into the head of the response: cheaper than a slice of their own.
constexpr uint64_t kInlineBytes = 4096;
constexpr size_t kTensorAlignment = 64;
constexpr uint64_t kMaxResponseBytes = std::numeric_limits<int32_t>::max();

grpc_compression_level compression_level(const std::string& name) noexcept {
  if (name == "low") return GRPC_COMPRESS_LEVEL_LOW;
  if (name == "medium") return GRPC_COMPRESS_LEVEL_MED;
  return name == "high" ? GRPC_COMPRESS_LEVEL_HIGH : GRPC_COMPRESS_LEVEL_NONE;
}

/// The parts as slices: pieces of the head share its memory, tensors give theirs away.
grpc::ByteBuffer to_buffer(grpc_slice head, std::span<const V2ResponsePart> parts) {
  const uint8_t* head_begin = GRPC_SLICE_START_PTR(head);
  if (parts.size() == 1 && parts[0].tensor == nullptr) {
    grpc::Slice only(head, grpc::Slice::STEAL_REF);
    return grpc::ByteBuffer(&only, 1);
  }
  std::vector<grpc::Slice> slices;
  slices.reserve(parts.size());
  for (const V2ResponsePart& part : parts) {
    if (part.tensor == nullptr) {
      auto begin = static_cast<size_t>(part.bytes.data() - head_begin);
      slices.emplace_back(grpc_slice_sub(head, begin, begin + part.bytes.size()), grpc::Slice::STEAL_REF);
    } else if (part.tensor->sink_data != 0) {
      auto* memory =
          reinterpret_cast<void*>(std::exchange(const_cast<OutputTensor*>(part.tensor)->sink_data, 0));
      slices.emplace_back(const_cast<uint8_t*>(part.bytes.data()), part.bytes.size(), &std::free, memory);
    } else {
      slices.emplace_back(part.bytes.data(), part.bytes.size());
    }
  }
  grpc_slice_unref(head);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace

InferQueue::InferQueue(Backplane& shared, InferenceService& inference_service,
                       std::unique_ptr<grpc::ServerCompletionQueue> completion_queue)
    : backplane(shared), service(inference_service), queue(std::move(completion_queue)), pool(kPooledCalls) {}

InferCall::InferCall(InferQueue& queue) : queue_(queue) {}

void InferCall::arm(InferQueue& queue) {
  std::unique_ptr<InferCall> call = queue.pool.take();
  if (call == nullptr) call = std::make_unique<InferCall>(queue);
  call.release()->wait();
}

void InferCall::wait() {
  begin(kWritePart | kEndPart);
  context_.emplace();
  writer_.emplace(&*context_);
  context_->AsyncNotifyWhenDone(&end_);
  queue_.service.RequestModelInfer(&*context_, &received_, &*writer_, queue_.queue.get(), queue_.queue.get(),
                                   &start_);
}

void InferCall::on_start(bool ok) {
  if (!ok) {
    delete this;  // the server shuts down: there is no call
    return;
  }
  arm(queue_);
  pass_ = Pass(queue_.backplane.host.gate());
  if (!pass_) {
    abandon();
    answer_error(unavailable(messages::kGrpcShuttingDown));
    return;
  }
  // After success the call may be over and this object in its next use.
  if (Status status = run(); !status.ok()) answer_error(status);
}

Status InferCall::run() noexcept {
  Status status = read_slices();
  if (status.ok()) status = message_.parse(spans_, request.arena());
  if (status.ok()) {
    Result<int64_t> version = parse_model_version(message_.model_version());
    if (version.ok()) {
      Result<ModelRef> found = queue_.backplane.catalog->acquire(message_.model_name(), version.value());
      if (found.ok()) {
        model = std::move(found).value();
      } else {
        status = std::move(found).status();
      }
    } else {
      status = std::move(version).status();
    }
  }
  if (status.ok() && model->info().decoupled) status = unimplemented(messages::kGrpcDecoupled);
  if (status.ok()) status = message_.fill(request);
  if (!status.ok()) {
    abandon();
    return status;
  }
  request.times.deadline_ns = deadline_ns();
  return submit();
}

Status InferCall::read_slices() noexcept {
  slices_.clear();
  spans_.clear();
  slices_.emplace_back();
  // Nearly every small request is one slice, which needs no list.
  if (!received_.TrySingleSlice(&slices_.front()).ok()) {
    if (grpc::Status dumped = received_.Dump(&slices_); !dumped.ok()) {
      return internal_error("the request's bytes can not be read: ", dumped.error_message());
    }
  }
  for (const grpc::Slice& slice : slices_) spans_.emplace_back(slice.begin(), slice.size());
  return {};
}

int64_t InferCall::deadline_ns() const noexcept {
  gpr_timespec deadline = context_->raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) return 0;
  gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  if (left.tv_sec > std::numeric_limits<int32_t>::max()) return 0;  // further than a server lives
  return queue_.backplane.host.clock().now_ns() + left.tv_sec * kNsPerSecond + left.tv_nsec;
}

Status InferCall::allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept {
  std::free(reinterpret_cast<void*>(std::exchange(output.sink_data, 0)));
  output.buffer = {};
  if (size_bytes <= kInlineBytes) {
    output.buffer.data = response.arena().allocate(size_bytes, kTensorAlignment);
  } else {
    if (size_bytes <= kMaxResponseBytes + kTensorAlignment) {
      uint64_t rounded = (size_bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
      output.buffer.data = std::aligned_alloc(kTensorAlignment, rounded);
    } else {
      return Status(Code::kInvalidArgument, messages::response_too_large(size_bytes));
    }
    if (output.buffer.data == nullptr) {
      return make_status(Code::kResourceExhausted, "no memory for the ", size_bytes, " bytes of output '",
                         output.name, "'");
    }
    output.sink_data = reinterpret_cast<uint64_t>(output.buffer.data);
  }
  output.buffer.size_bytes = size_bytes;
  return {};
}

void InferCall::drop_outputs(Response& response) noexcept {
  for (OutputTensor& output : response.outputs) {
    std::free(reinterpret_cast<void*>(std::exchange(output.sink_data, 0)));
  }
}

void InferCall::answer(Response& response) noexcept {
  const ModelInfo& info = model->info();
  Status status = classify_outputs(info, request, response);
  if (status.ok()) {
    V2InferResponse message(info.name, info.version_text, request.id, response, kInlineBytes);
    if (message.total_bytes() > kMaxResponseBytes) {
      status = Status(Code::kInvalidArgument, messages::response_too_large(message.total_bytes()));
    } else {
      grpc_slice head = grpc_slice_malloc(message.head_bytes());
      grpc::ByteBuffer buffer = to_buffer(head, message.write(GRPC_SLICE_START_PTR(head)));
      const std::string& compression = queue_.backplane.settings.response_compression;
      if (compression != "none") context_->set_compression_level(compression_level(compression));
      writer_->Finish(buffer, grpc::Status::OK, &written_);
    }
  }
  drop_outputs(response);
  if (!status.ok()) answer_error(status);
}

void InferCall::answer_error(const Status& status) noexcept {
  writer_->FinishWithError(to_grpc(status), &written_);
}

void InferCall::on_written(bool) { done(kWritePart); }

void InferCall::on_end(bool) {
  if (context_->IsCancelled()) request.cancellation.cancel();
  done(kEndPart);
}

void InferCall::recycle() noexcept {
  // The pass goes last: with it the instance may be stopped, and the queue with it.
  Pass pass = std::move(pass_);
  message_.reset();
  reset_request();
  spans_.clear();
  slices_.clear();
  received_.Clear();
  writer_.reset();
  context_.reset();
  queue_.pool.give(std::unique_ptr<InferCall>(this));
}

}  // namespace atl::frontends::grpc_frontend
