#include "routing/weighted/shadow_request.h"

#include <cstdlib>
#include <optional>
#include <utility>

namespace atl::routing {
namespace {

/// Bytes for a block of all inputs, counted in the buffers, because nothing is validated yet.
bool measure(const Request& request, uint64_t* bytes) noexcept {
  *bytes = 0;
  for (const InputTensor& input : request.inputs) {
    const std::optional<uint64_t> of_input = block_bytes(input.buffers);
    if (!of_input || __builtin_add_overflow(*bytes, *of_input, bytes)) return false;
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

std::unique_ptr<ShadowRequest> ShadowRequest::copy_of(const Request& from, ShadowTarget& target,
                                                      uint32_t max_in_flight, ShadowBudget& budget,
                                                      const DeviceMemory* devices, Pass pass) noexcept {
  if (target.in_flight.fetch_add(1, std::memory_order_relaxed) >= max_in_flight) {
    target.in_flight.fetch_sub(1, std::memory_order_relaxed);
    target.dropped.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  std::unique_ptr<ShadowRequest> shadow(new ShadowRequest(target, budget, std::move(pass)));
  if (shadow->copy(from, devices)) return shadow;
  shadow->count_dropped();
  return nullptr;
}

ShadowRequest::~ShadowRequest() {
  std::free(input_bytes_);
  budget_.give_back(input_size_bytes_);
  target_.in_flight.fetch_sub(1, std::memory_order_relaxed);
}

bool ShadowRequest::copy(const Request& from, const DeviceMemory* devices) noexcept {
  Arena& arena = request.arena();
  // Its client was admitted for the request itself.
  request.call_flags = kShadow | kIsStep;
  request.id = arena.copy_text(from.id);
  request.priority = from.priority;
  request.timeout_us = from.timeout_us;
  request.tenant = arena.copy_text(from.tenant);
  request.caller = arena.copy_text(from.caller);
  request.times.deadline_ns = from.times.deadline_ns;
  for (const RequestedOutput& output : from.outputs) {
    request.add_output().name = arena.copy_text(output.name);
  }
  for (const Parameter& parameter : from.parameters) {
    Parameter& copied = request.add_parameter();
    copied = parameter;
    copied.key = arena.copy_text(parameter.key);
    copied.text = arena.copy_text(parameter.text);
  }
  return copy_inputs(from, devices);
}

bool ShadowRequest::copy_inputs(const Request& from, const DeviceMemory* devices) noexcept {
  uint64_t bytes = 0;
  if (!measure(from, &bytes) || !budget_.take(bytes)) return false;
  input_size_bytes_ = bytes;
  if (bytes != 0) input_bytes_ = std::aligned_alloc(kTensorBlockAlignment, bytes);
  if (bytes != 0 && input_bytes_ == nullptr) return false;
  Arena& arena = request.arena();
  auto* to = static_cast<std::byte*>(input_bytes_);
  for (const InputTensor& input : from.inputs) {
    InputTensor& copied = request.add_input();
    copied.name = arena.copy_text(input.name);
    copied.datatype = input.datatype;
    copied.flags = input.flags;
    copied.shape = arena.copy(input.shape);
    copied.size_bytes = input.size_bytes;
    Result<Buffer> copy = copy_to_block(devices, input.buffers, to);
    if (!copy.ok()) return false;
    copied.buffers = {arena.make<Buffer>(*copy), 1};
    to += *block_bytes(input.buffers);
  }
  return true;
}

void ShadowRequest::run(std::unique_ptr<ShadowRequest> owned, ModelCatalog& catalog) noexcept {
  ShadowRequest* shadow = owned.release();
  shadow->target_.requests.fetch_add(1, std::memory_order_relaxed);
  Result<ModelRef> model = catalog.acquire(shadow->target_.model, shadow->target_.version);
  if (!model.ok()) return shadow->refuse(std::move(model).status());
  shadow->infer(std::move(model).value());
}

Status ShadowRequest::reserve(const OutputTensor&, uint64_t size_bytes) noexcept {
  if (budget_.take(size_bytes)) return {};
  return make_status(Code::kResourceExhausted, "the memory for shadow requests is used up");
}

void ShadowRequest::on_response(Response* response, uint32_t) noexcept {
  if (response != nullptr && !response->error.ok()) failed_ = true;
}

void ShadowRequest::on_end() noexcept {
  if (failed_) target_.failures.fetch_add(1, std::memory_order_relaxed);
  // The pass goes last: with it the plugin may be stopped and unmapped.
  Pass pass = std::move(pass_);
  delete this;
}

}  // namespace atl::routing
