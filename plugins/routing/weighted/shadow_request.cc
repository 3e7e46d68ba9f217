#include "routing/weighted/shadow_request.h"

#include <cstdlib>
#include <utility>

namespace atl::routing {
namespace {

constexpr uint64_t kAlignment = 64;

constexpr uint64_t aligned(uint64_t bytes) noexcept {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Bytes for a block of all inputs, counted in the buffers, because nothing is validated yet.
bool measure(const Request& request, uint64_t* bytes) noexcept {
  *bytes = 0;
  for (const InputTensor& input : request.inputs) {
    uint64_t input_bytes = 0;
    for (const Buffer& buffer : input.buffers) {
      if (__builtin_add_overflow(input_bytes, buffer.size_bytes, &input_bytes)) return false;
    }
    if (__builtin_add_overflow(*bytes, aligned(input_bytes), bytes)) return false;
  }
  return true;
}

}  // namespace

bool ShadowBudget::take(uint64_t bytes) noexcept {
  uint64_t used = used_bytes_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_bytes_ - used) return false;
  } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

std::unique_ptr<ShadowRequest> ShadowRequest::copy_of(const Request& request, ShadowTarget& target,
                                                      uint32_t max_in_flight, ShadowBudget& budget,
                                                      const DeviceMemory* devices, Pass pass) noexcept {
  if (target.in_flight.fetch_add(1, std::memory_order_relaxed) >= max_in_flight) {
    target.in_flight.fetch_sub(1, std::memory_order_relaxed);
    target.dropped.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  std::unique_ptr<ShadowRequest> shadow(new ShadowRequest(target, budget, std::move(pass)));
  if (shadow->copy(request, devices)) return shadow;
  shadow->count_dropped();
  return nullptr;
}

ShadowRequest::~ShadowRequest() {
  std::free(input_bytes_);
  budget_.give_back(input_size_bytes_);
  model_.reset();
  target_.in_flight.fetch_sub(1, std::memory_order_relaxed);
}

bool ShadowRequest::copy(const Request& request, const DeviceMemory* devices) noexcept {
  Arena& arena = request_.arena();
  // Its client was admitted for the request itself.
  request_.call_flags = kShadow | kIsStep;
  request_.id = arena.copy_text(request.id);
  request_.priority = request.priority;
  request_.timeout_us = request.timeout_us;
  request_.tenant = arena.copy_text(request.tenant);
  request_.caller = arena.copy_text(request.caller);
  request_.times.deadline_ns = request.times.deadline_ns;
  for (const RequestedOutput& output : request.outputs) {
    request_.add_output().name = arena.copy_text(output.name);
  }
  for (const Parameter& parameter : request.parameters) {
    Parameter& copied = request_.add_parameter();
    copied = parameter;
    copied.key = arena.copy_text(parameter.key);
    copied.text = arena.copy_text(parameter.text);
  }
  return copy_inputs(request, devices);
}

bool ShadowRequest::copy_inputs(const Request& request, const DeviceMemory* devices) noexcept {
  uint64_t bytes = 0;
  if (!measure(request, &bytes) || !budget_.take(bytes)) return false;
  input_size_bytes_ = bytes;
  if (bytes != 0) input_bytes_ = std::aligned_alloc(kAlignment, bytes);
  if (bytes != 0 && input_bytes_ == nullptr) return false;
  Arena& arena = request_.arena();
  auto* to = static_cast<char*>(input_bytes_);
  for (const InputTensor& input : request.inputs) {
    InputTensor& copied = request_.add_input();
    copied.name = arena.copy_text(input.name);
    copied.datatype = input.datatype;
    copied.flags = input.flags;
    copied.shape = arena.copy(input.shape);
    copied.size_bytes = input.size_bytes;
    Buffer buffer;
    buffer.data = to;
    for (const Buffer& from : input.buffers) {
      Buffer part;
      part.data = to + buffer.size_bytes;
      part.size_bytes = from.size_bytes;
      const Status status = devices == nullptr ? copy_on_host(part, from) : devices->copy(part, from);
      if (!status.ok()) return false;
      buffer.size_bytes += from.size_bytes;
    }
    copied.buffers = arena.copy(std::span<const Buffer>(&buffer, 1));
    to += aligned(buffer.size_bytes);
  }
  return true;
}

void ShadowRequest::run(std::unique_ptr<ShadowRequest> owned, ModelCatalog& catalog) noexcept {
  ShadowRequest* shadow = owned.release();
  shadow->target_.requests.fetch_add(1, std::memory_order_relaxed);
  Result<ModelRef> model = catalog.acquire(shadow->target_.model, shadow->target_.version);
  bool accepted = false;
  if (model.ok()) {
    shadow->model_ = std::move(model).value();
    shadow->request_.model = shadow->model_.get();
    shadow->request_.sink = shadow;
    accepted = shadow->model_->infer(shadow->request_).ok();
  }
  if (accepted) {
    shadow->done(kSubmitPart);
  } else {
    shadow->fail();
    shadow->done(kFinalPart | kReleasePart | kSubmitPart);
  }
}

Response* ShadowRequest::new_response() noexcept {
  auto* response = new Response;
  response->sink = this;
  return response;
}

Status ShadowRequest::allocate(Response&, OutputTensor& output, uint64_t size_bytes, MemoryKind,
                               int64_t) noexcept {
  if (!budget_.take(size_bytes)) {
    return make_status(Code::kResourceExhausted, "the memory for shadow requests is used up");
  }
  output.buffer = {};
  output.buffer.data = std::malloc(size_bytes + 1);
  if (output.buffer.data == nullptr) {
    budget_.give_back(size_bytes);
    return make_status(Code::kResourceExhausted, "no memory for the ", size_bytes, " bytes of output '",
                       output.name, "'");
  }
  output.buffer.size_bytes = size_bytes;
  // A backend may shrink the buffer: what was taken is kept apart.
  output.sink_data = size_bytes + 1;
  return {};
}

void ShadowRequest::discard(Response* response) noexcept {
  wait_for_outputs(*response);
  for (OutputTensor& output : response->outputs) {
    if (output.sink_data == 0) continue;
    std::free(output.buffer.data);
    budget_.give_back(output.sink_data - 1);
  }
  delete response;
}

void ShadowRequest::send(Response* response, uint32_t flags) noexcept {
  if (response != nullptr) {
    if (!response->error.ok()) fail();
    discard(response);
  }
  if ((flags & kFinal) == 0 || std::exchange(final_seen_, true)) return;
  done(kFinalPart);
}

void ShadowRequest::released(Request&) noexcept { done(kReleasePart); }

void ShadowRequest::done(uint32_t parts) noexcept {
  if (!parts_.done(parts)) return;
  if (failed_.load(std::memory_order_relaxed)) target_.failures.fetch_add(1, std::memory_order_relaxed);
  // The pass goes last: with it the plugin may be stopped and unmapped.
  Pass pass = std::move(pass_);
  delete this;
}

}  // namespace atl::routing
