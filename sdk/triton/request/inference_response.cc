#include "request/inference_response.h"

#include <cstdlib>
#include <utility>

#include "atoll/memory/memory.h"
#include "atoll/triton/buffer_attributes.h"
#include "atoll/triton/status.h"
#include "backend/memory_type.h"
#include "request/object_pool.h"

using atl::OutputTensor;
using atl::Request;
using atl::RequestedOutput;
using atl::Status;
using namespace atl::triton;

namespace {

constinit ObjectPool<TRITONSERVER_InferenceResponse> response_pool;

/// Of a callback whose errors nobody gets.
void log_failure(const char* what, const Status& status) noexcept {
  if (status.ok()) return;
  TRITONSERVER_ErrorDelete(guarded([&] {
    return TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__,
                                   atl::cat(what, ": ", status.message()).c_str());
  }));
}

}  // namespace

TRITONSERVER_InferenceResponse& TRITONSERVER_InferenceResponse::make(
    atl::ResponseSink& sink, TRITONSERVER_ResponseAllocator& allocator, void* allocator_userp) noexcept {
  TRITONSERVER_InferenceResponse& made = response_pool.take();
  made.sink = &sink;
  made.allocator = &allocator;
  made.allocator_userp = allocator_userp;
  if (allocator.start != nullptr) {
    log_failure("the start function of a response allocator failed",
                call(allocator.start, &allocator, allocator_userp));
  }
  return made;
}

Status TRITONSERVER_InferenceResponse::allocate_output(OutputTensor& output, bool is_wanted,
                                                       uint64_t size_bytes, atl::MemoryKind preferred_kind,
                                                       int64_t preferred_device_id) noexcept {
  if (output.sink_data != 0) {
    return make_status(atl::Code::kAlreadyExists, "output '", output.name, "' has its memory already");
  }
  auto* made = arena().make<OutputMemory>();
  made->size_bytes = size_bytes;
  if (is_wanted) {
    made->type = static_cast<TRITONSERVER_MemoryType>(preferred_kind);
    made->device_id = preferred_device_id;
    ATOLL_RETURN_IF_ERROR(ask_allocator(output.name.data(), *made));
  } else {
    made->is_heap = true;
    made->buffer = std::malloc(size_bytes == 0 ? 1 : size_bytes);
  }
  made->older = std::exchange(memory, made);
  output.sink_data = reinterpret_cast<uint64_t>(made);
  if (made->buffer == nullptr && size_bytes != 0) {
    return make_status(atl::Code::kResourceExhausted, "found no memory for the ", size_bytes,
                       " bytes of output '", output.name, "'");
  }
  if (!is_memory_type(made->type)) {
    return atl::internal_error("the memory of output '", output.name, "' is of unknown type ",
                               static_cast<int>(made->type));
  }
  output.buffer = {made->buffer, size_bytes, static_cast<atl::MemoryKind>(made->type),
                   static_cast<int32_t>(made->device_id), nullptr};
  return {};
}

Status TRITONSERVER_InferenceResponse::ask_allocator(const char* name, OutputMemory& made) noexcept {
  const TRITONSERVER_MemoryType type = made.type;
  const int64_t device_id = made.device_id;
  ATOLL_RETURN_IF_ERROR(call(allocator->allocate, allocator, name, made.size_bytes, type, device_id,
                             allocator_userp, &made.buffer, &made.userp, &made.type, &made.device_id));
  if (allocator->add_attributes == nullptr) return {};
  // It says what nobody asks for yet; that it fails counts.
  TRITONSERVER_BufferAttributes attributes;
  attributes.size_bytes = made.size_bytes;
  attributes.kind = static_cast<atl::MemoryKind>(made.type);
  attributes.device_id = made.device_id;
  Status status = call(allocator->add_attributes, allocator, name, &attributes, allocator_userp, made.userp);
  if (status.ok()) return {};
  if (made.buffer != nullptr) {
    log_failure("the release function of a response allocator failed",
                call(allocator->release, allocator, made.buffer, made.userp, made.size_bytes, made.type,
                     made.device_id));
  }
  return status;
}

void TRITONSERVER_InferenceResponse::hand_over(const Request& request) noexcept {
  if (Status status = wait_for_outputs(); error.ok()) error = std::move(status);
  if (error.ok()) keep_wanted(request);
  if (!error.ok()) outputs.truncate(0);
  model = request.model;
  model->add_reference();
  take_texts(request);
  is_sent.store(true, std::memory_order_release);
}

Status TRITONSERVER_InferenceResponse::wait_for_outputs() noexcept {
  Status first;
  for (OutputTensor& output : outputs) {
    if (output.buffer.ready_after == nullptr) continue;
    Status status = wait_until_ready(output.buffer);
    if (first.ok()) first = std::move(status);
    output.buffer.ready_after = nullptr;
  }
  return first;
}

void TRITONSERVER_InferenceResponse::keep_wanted(const Request& request) noexcept {
  if (request.outputs.empty()) return;  // without validation nothing is asked for
  uint32_t kept = 0;
  size_t expected = 0;
  for (const OutputTensor& output : outputs) {
    const RequestedOutput* wanted = request.find_output(output.name, expected);
    if (wanted == nullptr) continue;
    const auto position = static_cast<size_t>(wanted - request.outputs.begin());
    // In the order of the request no output can be there twice.
    for (uint32_t i = 0; position < expected && i < kept; ++i) {
      if (outputs[i].name != output.name) continue;
      error = atl::internal_error("model '", request.model->info().name, "' answered output '", output.name,
                                  "' more than once in a response");
    }
    expected = position < expected ? expected : position + 1;
    OutputTensor& place = outputs[kept++];
    if (&place != &output) place = output;
  }
  outputs.truncate(kept);
}

/// What the parts of a response borrow is valid as long as the request is, which now ends first.
void TRITONSERVER_InferenceResponse::take_texts(const Request& request) noexcept {
  request_id = request.id.empty() ? std::string_view() : arena().copy_text(request.id);
  for (OutputTensor& output : outputs) {
    output.name = arena().copy_text(output.name);
    output.shape = arena().copy(output.shape);
  }
  for (atl::Parameter& parameter : parameters) {
    parameter.key = arena().copy_text(parameter.key);
    parameter.text = arena().copy_text(parameter.text);
  }
}

void TRITONSERVER_InferenceResponse::end() noexcept {
  (void)wait_for_outputs().ok();  // no device writes to them any more
  give_memory_back();
  memory = nullptr;
  request_id = {};
  if (atl::Model* held = std::exchange(model, nullptr); held != nullptr) held->drop_reference();
  reset();
  response_pool.give_back(*this);
}

void TRITONSERVER_InferenceResponse::give_memory_back() noexcept {
  for (OutputMemory* one = memory; one != nullptr; one = one->older) {
    if (one->is_heap) {
      std::free(one->buffer);
    } else if (one->buffer != nullptr) {
      log_failure("the release function of a response allocator failed",
                  call(allocator->release, allocator, one->buffer, one->userp, one->size_bytes, one->type,
                       one->device_id));
    }
  }
}
