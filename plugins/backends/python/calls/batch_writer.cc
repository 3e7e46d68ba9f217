#include "backends/python/calls/batch_writer.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "atoll/backend/values.h"
#include "atoll/request/trace.h"

namespace atl::python {
namespace {

/// Tensors that are smaller are copied beside the request; an array that a model keeps then keeps all of it.
constexpr uint64_t kOwnBlockBytes = 4096;
constexpr uint64_t kPayloadBytesMax = UINT32_MAX;

bool is_on_device(const InputTensor& input) {
  return std::ranges::any_of(input.buffers,
                             [](const Buffer& buffer) { return buffer.kind == MemoryKind::kGpu; });
}

/// What can fail to be copied is copied before the rest is written.
bool has_own_block(const InputTensor& input) {
  return input.size_bytes >= kOwnBlockBytes || (input.size_bytes != 0 && is_on_device(input));
}

/// What goes with the requests and takes time to make, so that it is made once for both passes. Mostly there is none.
class Texts {
 public:
  void add(size_t index, std::string text) {
    if (text.empty()) return;
    if (texts_.size() <= index) texts_.resize(index + 1);
    texts_[index] = std::move(text);
  }
  std::string_view at(size_t index) const noexcept {
    return index < texts_.size() ? std::string_view(texts_[index]) : std::string_view();
  }

 private:
  std::vector<std::string> texts_;
};

struct RequestTexts {
  Texts parameters;
  Texts traces;
};

std::string trace_json(const Trace* trace) {
  const std::string_view parent = trace == nullptr ? std::string_view() : trace->traceparent();
  if (parent.empty()) return {};
  return cat(R"({"traceparent":")", parent, R"("})");
}

RequestTexts texts_of(std::span<Request* const> requests) {
  RequestTexts texts;
  for (size_t i = 0; i < requests.size(); ++i) {
    texts.parameters.add(i, parameters_json(requests[i]->parameters.span()));
    texts.traces.add(i, trace_json(requests[i]->trace));
  }
  return texts;
}

/// One pass over a batch: the first counts, the second writes.
class BatchPass {
 public:
  BatchPass(PayloadWriter writer, const RequestTexts& texts, WrittenBatch& batch, uint64_t first_handle)
      : writer_(writer), texts_(texts), batch_(batch), handle_(first_handle) {}

  uint64_t run(std::span<Request* const> requests) {
    BatchHeader header;
    const uint32_t at = writer_.reserve<BatchHeader>();
    header.request_count = static_cast<uint32_t>(requests.size());
    header.requests = writer_.reserve<RequestRecord>(requests.size());
    writer_.put(at, header);
    for (uint32_t i = 0; i < requests.size(); ++i) {
      add_request(*requests[i], header.requests + i * sizeof(RequestRecord), i);
    }
    return writer_.size_bytes();
  }

 private:
  void add_request(Request& request, uint64_t at, uint32_t i) {
    RequestRecord record;
    record.handle = handle_ + i;
    record.correlation_id = request.sequence.number;
    record.timeout_us = request.timeout_us;
    record.correlation_text = writer_.add_text(request.sequence.text);
    record.id = writer_.add_text(request.id);
    record.parameters = writer_.add_text(texts_.parameters.at(i));
    record.trace = writer_.add_text(texts_.traces.at(i));
    record.sequence_flags = request.sequence_flags;
    record.output_count = request.outputs.size();
    record.outputs = writer_.reserve<TextRef>(request.outputs.size());
    for (uint32_t k = 0; k < request.outputs.size(); ++k) {
      writer_.put(record.outputs + k * sizeof(TextRef), writer_.add_text(request.outputs[k].name));
    }
    record.input_count = request.inputs.size();
    record.inputs = writer_.reserve<TensorRecord>(request.inputs.size());
    for (uint32_t k = 0; k < request.inputs.size(); ++k) {
      add_input(request.inputs[k], record.inputs + k * sizeof(TensorRecord));
    }
    writer_.put(at, record);
    std::byte* cancelled = writer_.at(at + offsetof(RequestRecord, cancelled));
    if (cancelled != nullptr) batch_.cancel_words.push_back(reinterpret_cast<uint32_t*>(cancelled));
  }

  void add_input(const InputTensor& input, uint64_t at) {
    TensorRecord record;
    record.name = writer_.add_text(input.name);
    record.datatype = static_cast<uint32_t>(input.datatype);
    record.rank = static_cast<uint32_t>(input.shape.size());
    record.shape = writer_.add_array(input.shape);
    record.data.size_bytes = input.size_bytes;
    if (has_own_block(input)) {
      if (writer_.at(0) != nullptr) {
        const Block& own = *batch_.tensors[next_own_++];
        record.data.slab = own.slab;
        record.data.offset = own.offset;
        record.data.flags = DataRef::kOwnBlock;
      }
    } else {
      const uint32_t data = writer_.reserve_bytes(input.size_bytes, kBlockAlignment);
      if (writer_.at(0) != nullptr) {
        record.data.slab = batch_.block->slab;
        record.data.offset = batch_.block->offset + data;
        copy(input, writer_.at(data));
      }
    }
    writer_.put(at, record);
  }

  static void copy(const InputTensor& input, std::byte* to) {
    (void)backends::gather(input.buffers, Buffer{to, input.size_bytes}, input.name).ok();  // was checked
  }

  PayloadWriter writer_;
  const RequestTexts& texts_;
  WrittenBatch& batch_;
  const uint64_t handle_;
  size_t next_own_ = 0;
};

/// \param devices  null: it is in memory of the CPU
Status copy_own(BlockAllocator& blocks, const InputTensor& input, const DeviceMemory* devices,
                WrittenBatch& batch) {
  Result<const Block*> own = blocks.allocate(input.size_bytes);
  if (!own.ok()) return std::move(own).status();
  batch.tensors.push_back(*own);
  if (devices != nullptr && is_on_device(input))
    return copy_to_block(devices, input.buffers, (*own)->payload).status();
  Result<uint64_t> copied =
      backends::gather(input.buffers, Buffer{(*own)->payload, input.size_bytes}, input.name);
  return copied.ok() ? Status() : std::move(copied).status();
}

Status fill_batch(BlockAllocator& blocks, std::span<Request* const> requests, uint64_t first_handle,
                  const DeviceMemory* devices, WrittenBatch& batch) {
  for (const Request* request : requests) {
    for (const InputTensor& input : request->inputs) {
      if (has_own_block(input)) ATOLL_RETURN_IF_ERROR(copy_own(blocks, input, devices, batch));
    }
  }
  const RequestTexts texts = texts_of(requests);
  const uint64_t size = BatchPass(PayloadWriter(), texts, batch, first_handle).run(requests);
  if (size > kPayloadBytesMax) {
    return invalid_argument("the requests' names and parameters take ", size, " bytes, expected at most ",
                            kPayloadBytesMax);
  }
  Result<const Block*> block = blocks.allocate(size);
  if (!block.ok()) return std::move(block).status();
  batch.block = *block;
  BatchPass(PayloadWriter(batch.block->payload), texts, batch, first_handle).run(requests);
  return {};
}

}  // namespace

Status check_inputs(const Request& request, const DeviceMemory& devices) {
  for (const InputTensor& input : request.inputs) {
    uint64_t sum = 0;
    for (const Buffer& buffer : input.buffers) {
      const bool is_reached = buffer.kind == MemoryKind::kGpu && devices.is_present();
      if (!is_host_ready(buffer) && !is_reached) {
        ATOLL_RETURN_IF_ERROR(backends::detail::check_host_memory(buffer, cat("input '", input.name, "'")));
      }
      sum += buffer.size_bytes;
    }
    if (sum != input.size_bytes) {
      return internal_error("input '", input.name, "' has ", sum, " bytes in its buffers, expected ",
                            input.size_bytes);
    }
  }
  return {};
}

std::string parameters_json(std::span<const Parameter> parameters) {
  if (parameters.empty()) return {};
  nlohmann::json object = nlohmann::json::object();
  for (const Parameter& parameter : parameters) {
    nlohmann::json& value = object[std::string(parameter.key)];
    switch (parameter.type) {
      case ParameterType::kInt:
        value = parameter.int_value;
        break;
      case ParameterType::kBool:
        value = parameter.bool_value;
        break;
      case ParameterType::kDouble:
        value = parameter.double_value;
        break;
      case ParameterType::kString:
      case ParameterType::kBytes:
        value = parameter.text;
        break;
    }
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Status write_batch(BlockAllocator& blocks, std::span<Request* const> requests, uint64_t first_handle,
                   const DeviceMemory* devices, WrittenBatch& batch) {
  batch.block = nullptr;
  batch.tensors.clear();
  batch.cancel_words.clear();
  Status status = fill_batch(blocks, requests, first_handle, devices, batch);
  if (!status.ok()) drop_batch(blocks, batch);
  return status;
}

void drop_batch(BlockAllocator& blocks, WrittenBatch& batch) noexcept {
  for (const Block* own : batch.tensors) blocks.give_back(own, false);
  if (batch.block != nullptr) blocks.give_back(batch.block, false);
  batch.block = nullptr;
  batch.tensors.clear();
  batch.cancel_words.clear();
}

}  // namespace atl::python
