#include <span>
#include <utility>

#include "atoll/request/traced_outputs.h"
#include "atoll/triton/status.h"
#include "error.h"
#include "request/in_process_request.h"
#include "request/inference_response.h"
#include "request/object_pool.h"

namespace atl::triton {
namespace {

constinit ObjectPool<RequestUse> use_pool;

TRITONSERVER_InferenceResponse& object(Response& response) noexcept {
  return static_cast<TRITONSERVER_InferenceResponse&>(response);
}

}  // namespace

RequestUse& RequestUse::make(TRITONSERVER_InferenceRequest& of) noexcept {
  RequestUse& use = use_pool.take();
  use.handle_ = &of;
  of.holders.fetch_add(1, std::memory_order_relaxed);
  of.flight.store(&use, std::memory_order_relaxed);
  use.model_ = of.model.get();
  use.model_->add_reference();
  use.callbacks_ = of.callbacks;
  use.program_trace_ = nullptr;
  use.is_released_ = use.final_seen_ = use.responded_ = false;
  use.parts_.open(kFinalPart | kReleasePart | kSubmitPart);
  use.references_.store(2, std::memory_order_relaxed);
  use.fill();
  return use;
}

// Everything is copied, because responses may speak of it when the handle is the program's again.
void RequestUse::fill() noexcept {
  const TRITONSERVER_InferenceRequest& from = *handle_;
  if (!from.id.text.empty()) id = arena().copy_text(from.id.text);
  model = model_;
  sink = this;
  call_flags = kMadeInProcess;
  sequence.number = from.correlation_number;
  if (!from.correlation_text.text.empty()) sequence.text = arena().copy_text(from.correlation_text.text);
  sequence_flags = from.flags;
  priority = from.priority;
  timeout_us = from.timeout_us;
  fill_tensors();
  for (const ParameterDefinition& one : from.parameters) {
    Parameter& parameter = add_parameter();
    parameter = one.value;
    parameter.key = arena().copy_text(one.key.text);
    if (parameter.type == ParameterType::kString) parameter.text = arena().copy_text(one.text.text);
  }
}

void RequestUse::fill_tensors() noexcept {
  for (const InputDefinition& one : handle_->inputs) {
    InputTensor& input = add_input();
    if (one.is_raw) {
      input.flags = InputTensor::kRaw;  // its name is the program's handle for it, and no tensor's
    } else {
      input.name = arena().copy_text(one.name.text);
      input.datatype = one.datatype;
      input.shape = arena().copy(std::span<const int64_t>(one.shape));
    }
    input.buffers = arena().copy(std::span<const Buffer>(one.buffers));
    for (const Buffer& buffer : one.buffers) input.size_bytes += buffer.size_bytes;
  }
  for (const ReusedText& one : handle_->outputs) add_output().name = arena().copy_text(one.text);
}

Status RequestUse::infer(Gate* in_flight, TRITONSERVER_InferenceTrace* given) noexcept {
  if (in_flight != nullptr) pass_ = Pass(*in_flight);
  // The stop does not wait for a request that comes after it has begun: plugins could be unmapped while they execute it.
  const bool is_too_late = in_flight != nullptr && !pass_;
  if (given != nullptr) {
    program_trace_ = given->outlives_begin() ? given : nullptr;
    trace = given->begin(model_->info(), id);
    trace_parts_.open(kFinalPart | kReleasePart);
  }
  Status status = is_too_late ? unavailable("Server exiting") : model_->infer(*this);
  if (!status.ok()) {
    end_flight();
    handle_->drop_holder();  // the caller has the request
    done_with_trace(kFinalPart | kReleasePart);
    done(kFinalPart | kReleasePart);
  }
  done(kSubmitPart);
  return status;
}

void RequestUse::drop_reference() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  reset();
  use_pool.give_back(*this);
}

void RequestUse::done(uint32_t parts) noexcept {
  if (!parts_.done(parts)) return;
  std::exchange(model_, nullptr)->drop_reference();
  pass_.reset();
  drop_reference();
}

void RequestUse::done_with_trace(uint32_t parts) noexcept {
  if (trace != nullptr && trace_parts_.done(parts)) trace->release();
}

Response* RequestUse::new_response() noexcept {
  return &TRITONSERVER_InferenceResponse::make(*this, *callbacks_.allocator, callbacks_.allocator_userp);
}

Status RequestUse::allocate(Response& response, OutputTensor& output, uint64_t size_bytes,
                            MemoryKind preferred_kind, int64_t preferred_device_id) noexcept {
  const bool is_wanted = outputs.empty() || find_output(output.name, response.outputs.size() - 1) != nullptr;
  return object(response).allocate_output(output, is_wanted, size_bytes, preferred_kind, preferred_device_id);
}

void RequestUse::send(Response* response, uint32_t flags) noexcept {
  if (final_seen_) {
    if (response != nullptr) discard(response);
    return;
  }
  final_seen_ = (flags & kFinal) != 0;
  if (response != nullptr) {
    if (!std::exchange(responded_, true)) model_->report_first_response(*this);
    object(*response).hand_over(*this);
    trace_outputs(trace, *response);
  }
  if (final_seen_) {
    done_with_trace(kFinalPart);
    end_flight();
  }
  const bool is_final = final_seen_;
  callbacks_.respond(response == nullptr ? nullptr : &object(*response), flags, callbacks_.respond_userp);
  if (is_final) done(kFinalPart);
}

/// Programs change, send or delete a request when they have its final response: what it says was copied. What comes
/// second, of this and the release, may find the handle in another flight, or be another program's.
void RequestUse::end_flight() noexcept {
  const void* mine = this;
  handle_->flight.compare_exchange_strong(mine, nullptr, std::memory_order_acq_rel);
}

void RequestUse::discard(Response* response) noexcept { object(*response).end(); }

void RequestUse::released(Request&) noexcept {
  if (std::exchange(is_released_, true)) return;
  TRITONSERVER_InferenceRequest* handle = handle_;
  end_flight();
  if (trace != nullptr) trace->report(TraceActivity::kRequestEnd, 0);
  done_with_trace(kReleasePart);
  callbacks_.release(handle, TRITONSERVER_REQUEST_RELEASE_ALL, callbacks_.release_userp);
  handle->drop_holder();
  done(kReleasePart);
}

RequestUse* use_of(Request& request) noexcept {
  return (request.call_flags & kMadeInProcess) == 0 ? nullptr : static_cast<RequestUse*>(&request);
}

TRITONSERVER_InferenceTrace* program_trace_of(Request& request) noexcept {
  const RequestUse* use = use_of(request);
  return use == nullptr ? nullptr : use->program_trace();
}

bool query_output(Request& request, const char* name, size_t* byte_size, TRITONSERVER_MemoryType* memory_type,
                  int64_t* memory_type_id, TRITONSERVER_Error** error) noexcept {
  const RequestUse* use = use_of(request);
  if (use == nullptr || use->callbacks().allocator->query == nullptr) return false;
  TRITONSERVER_ResponseAllocator* allocator = use->callbacks().allocator;
  *error = to_error(call(allocator->query, allocator, use->callbacks().allocator_userp, name, byte_size,
                         memory_type, memory_type_id));
  return true;
}

}  // namespace atl::triton
