#include "frontends/common/call/infer_context.h"

#include "atoll/request/traced_outputs.h"

namespace atl::frontends {

InferContext::InferContext(ResponseReceiver& receiver) noexcept
    : outputs(request, regions, memory, receiver), receiver_(receiver) {
  memory.set_retry_after(request.retry_after_ms);
}

void InferContext::begin(uint32_t transport_parts) noexcept {
  final_seen_ = false;
  responded_ = false;
  outputs.reset();
  parts_.open(kFinalPart | kReleasePart | kSubmitPart | transport_parts);
}

Status InferContext::submit() noexcept {
  request.model = model.get();
  request.sink = this;
  Status status = model->infer(request);
  if (status.ok()) {
    done(kSubmitPart);
  } else {
    abandon();
  }
  return status;
}

void InferContext::abandon() noexcept {
  final_seen_ = true;
  done(kReleasePart);
  done(kFinalPart);
  done(kSubmitPart);
}

Status InferContext::allocate(Response& response, OutputTensor& output, uint64_t size_bytes,
                              MemoryKind preferred_kind, int64_t) noexcept {
  return outputs.allocate(response, output, size_bytes, preferred_kind);
}

void InferContext::send(Response* response, uint32_t flags) noexcept {
  if (final_seen_) {
    if (response != nullptr) discard(response);
    return;
  }
  if (response != nullptr) {
    if (!std::exchange(responded_, true)) model->report_first_response(request);
    outputs.keep_requested(*response, model->info().name);
    trace_outputs(request.trace, *response);
  }
  if ((flags & kFinal) == 0) {
    receiver_.on_response(response, flags);
    return;
  }
  final_seen_ = true;
  trace("INFER_RESPONSE_COMPLETE");
  receiver_.on_response(response, flags);
  done(kFinalPart);
}

void InferContext::discard(Response* response) noexcept {
  wait_for_outputs(*response);
  outputs.drop(*response);
  reclaim(response);
}

void InferContext::released(Request&) noexcept {
  if (request.trace != nullptr) request.trace->report(TraceActivity::kRequestEnd, 0);
  done(kReleasePart);
}

void InferContext::reset() noexcept {
  if (request.trace != nullptr) request.trace->release();
  regions.release();
  request.reset();
  model.reset();
  read_for_.reset();
  memory.release();
}

}  // namespace atl::frontends
