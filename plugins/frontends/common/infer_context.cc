#include "common/infer_context.h"

#include <utility>

namespace atl::frontends {

InferContext::~InferContext() {
  while (spare_ != nullptr) delete std::exchange(spare_, spare_->next);
}

void InferContext::begin(uint32_t transport_parts) noexcept {
  final_seen_ = false;
  open_parts_.store(kFinalPart | kReleasePart | kSubmitPart | transport_parts, std::memory_order_relaxed);
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

bool InferContext::done(uint32_t part) noexcept {
  uint32_t before = open_parts_.fetch_and(~part, std::memory_order_acq_rel);
  if ((before & part) == 0 || (before & ~part) != 0) return false;
  recycle();
  return true;
}

Response* InferContext::new_response() noexcept {
  Response* response = nullptr;
  if (!first_in_use_) {
    first_in_use_ = true;
    response = &first_;
  } else if (spare_ != nullptr) {
    response = std::exchange(spare_, spare_->next);
    response->next = nullptr;
  } else {
    response = new Response;
  }
  response->sink = this;
  return response;
}

Status InferContext::allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind,
                              int64_t) noexcept {
  return allocate_output(response, output, size_bytes);
}

void InferContext::send(Response* response, uint32_t flags) noexcept {
  if (final_seen_) {
    if (response != nullptr) discard(response);
    return;
  }
  if ((flags & kFinal) == 0) {
    on_response(response, flags);
    return;
  }
  final_seen_ = true;
  on_response(response, flags);
  done(kFinalPart);
}

void InferContext::discard(Response* response) noexcept {
  drop_outputs(*response);
  reclaim(response);
}

void InferContext::reclaim(Response* response) noexcept {
  response->reset();
  if (response == &first_) {
    first_in_use_ = false;
  } else {
    response->next = spare_;
    spare_ = response;
  }
}

void InferContext::released(Request&) noexcept { done(kReleasePart); }

void InferContext::reset_request() noexcept {
  request.reset();
  model.reset();
}

}  // namespace atl::frontends
