#include "backend/output.h"

#include <algorithm>

#include "backend/memory_type.h"
#include "request/tensor_arguments.h"

using atl::DataType;
using atl::MemoryKind;
using atl::OutputTensor;
using atl::Response;
using atl::Status;
using namespace atl::triton;

namespace {

using OutputMemory = TRITONBACKEND_Output::Memory;

/// The tensor is added now and not with the output, as its memory has to be there before the next is added.
Status allocate(TRITONBACKEND_Output& output, Response& response, uint64_t size_bytes, MemoryKind kind,
                int64_t device_id, atl::Buffer* buffer) noexcept {
  atl::RequestedOutput named;
  named.name = output.name;
  OutputTensor& tensor = response.add_output(named, output.datatype, output.shape);
  Status status = response.allocate(tensor, size_bytes, kind, device_id);
  if (!status.ok()) {
    response.outputs.truncate(response.outputs.size() - 1);
    output.memory = OutputMemory::kRefused;
    return status;
  }
  output.memory = OutputMemory::kGiven;
  output.attributes = attributes_of(tensor.buffer);
  *buffer = tensor.buffer;
  return {};
}

TRITONBACKEND_Output* find_output(TRITONBACKEND_Response& response, std::string_view name) noexcept {
  TRITONBACKEND_Output* output = response.first_output;
  while (output != nullptr && output->name != name) output = output->next;
  return output;
}

bool is_of_model(const atl::ModelInfo* model, std::string_view name) noexcept {
  return model == nullptr ||
         std::ranges::any_of(model->outputs, [&](const auto& spec) { return spec.name == name; });
}

TRITONBACKEND_Output& append_output(TRITONBACKEND_Response& response, const char* name, DataType datatype,
                                    std::span<const int64_t> shape) noexcept {
  TRITONBACKEND_Output& output = pools().outputs.take();
  output.name = response.response->arena().copy_text(name);
  output.shape = response.response->arena().copy(shape);
  output.datatype = datatype;
  output.memory = OutputMemory::kNone;
  output.next = nullptr;
  (response.last_output == nullptr ? response.first_output : response.last_output->next) = &output;
  response.last_output = &output;
  ++response.output_count;
  output.response.store(&response, std::memory_order_release);
  return output;
}

void show(const TRITONBACKEND_Output& output, TRITONSERVER_DataType* datatype, const int64_t** shape,
          uint64_t* dim_count) noexcept {
  set(datatype, output.datatype);
  set(shape, output.shape.data());
  set(dim_count, output.shape.size());
}

}  // namespace

namespace atl::triton {

bool has_open_outputs(const TRITONBACKEND_Response& response) noexcept {
  const TRITONBACKEND_Output* output = response.first_output;
  while (output != nullptr && output->memory != OutputMemory::kNone) output = output->next;
  return output != nullptr;
}

Status complete_outputs(TRITONBACKEND_Response& response) noexcept {
  for (TRITONBACKEND_Output* output = response.first_output; output != nullptr; output = output->next) {
    Buffer none;
    if (output->memory == OutputMemory::kNone) {
      ATOLL_RETURN_IF_ERROR(allocate(*output, *response.response, 0, MemoryKind::kCpu, 0, &none));
    } else if (output->memory == OutputMemory::kRefused) {
      return internal_error("output '", output->name, "' has no memory: it was refused");
    }
  }
  return {};
}

}  // namespace atl::triton

TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response* response,
                                                 TRITONBACKEND_Output** output, const char* name,
                                                 const TRITONSERVER_DataType datatype, const int64_t* shape,
                                                 const uint32_t dims_count) {
  set(output, nullptr);
  const bool has_null = any_null(output, name) || (shape == nullptr && dims_count != 0);
  const Locked exchange(response);
  if (!exchange || has_null) return refuse(__func__, "response", response, has_null);
  const std::span<const int64_t> dims(shape, dims_count);
  if (TRITONSERVER_Error* error = check_tensor("output", name, datatype, dims); error != nullptr)
    return error;
  if (!is_of_model(exchange->model, name)) {
    return invalid_argument("unexpected inference output '", name, "' for model '", exchange->model->name,
                            "'");
  }
  if (find_output(*response, name) != nullptr)
    return invalid_argument("the response has output '", name, "' already");
  *output = &append_output(*response, name, static_cast<DataType>(datatype), dims);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output* output, void** buffer,
                                               const uint64_t buffer_byte_size,
                                               TRITONSERVER_MemoryType* memory_type,
                                               int64_t* memory_type_id) {
  set(buffer, nullptr);
  const bool has_null = any_null(buffer, memory_type, memory_type_id);
  const Locked exchange(output, SinkUse::kResponses);
  if (!exchange || has_null) return exchange.refusal(__func__, "output", output, has_null);
  if (!is_memory_type(*memory_type)) return unknown_memory_type(*memory_type);
  if (output->memory != OutputMemory::kNone) {
    return guarded([&] {
      return new_error(TRITONSERVER_ERROR_ALREADY_EXISTS,
                       atl::cat("memory for output '", output->name, "' was asked for already"));
    });
  }
  Response& answer = *output->response.load(std::memory_order_relaxed)->response;
  atl::Buffer given;
  Status status = allocate(*output, answer, buffer_byte_size, static_cast<MemoryKind>(*memory_type),
                           *memory_type_id, &given);
  if (!status.ok()) return new_error(status);
  *buffer = given.data;
  *memory_type = static_cast<TRITONSERVER_MemoryType>(given.kind);
  *memory_type_id = given.device_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_OutputBufferAttributes(TRITONBACKEND_Output* output,
                                                         TRITONSERVER_BufferAttributes** buffer_attributes) {
  set(buffer_attributes, nullptr);
  const Locked exchange(output);
  if (!exchange || any_null(buffer_attributes))
    return refuse(__func__, "output", output, any_null(buffer_attributes));
  if (output->memory != OutputMemory::kGiven)
    return invalid_argument("output '", output->name, "' has no memory yet");
  *buffer_attributes = &output->attributes;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_InferenceResponseOutput(TRITONBACKEND_Response* response,
                                                          const uint32_t index, const char** name,
                                                          TRITONSERVER_DataType* datatype,
                                                          const int64_t** shape, uint64_t* dim_count) {
  const bool has_null = any_null(name, datatype, shape, dim_count);
  const Locked exchange(response);
  if (!exchange || has_null) return refuse(__func__, "response", response, has_null);
  if (index >= response->output_count)
    return invalid_argument("the response has ", response->output_count, " outputs, no output ", index);
  const TRITONBACKEND_Output* output = response->first_output;
  for (uint32_t i = 0; i < index; ++i) output = output->next;
  *name = output->name.data();
  show(*output, datatype, shape, dim_count);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_InferenceResponseOutputByName(TRITONBACKEND_Response* response,
                                                                const char* name,
                                                                TRITONSERVER_DataType* datatype,
                                                                const int64_t** shape, uint64_t* dim_count) {
  const bool has_null = any_null(name, datatype, shape, dim_count);
  const Locked exchange(response);
  if (!exchange || has_null) return refuse(__func__, "response", response, has_null);
  const TRITONBACKEND_Output* output = find_output(*response, name);
  if (output == nullptr) return invalid_argument("the response has no output '", name, "'");
  show(*output, datatype, shape, dim_count);
  return nullptr;
}
