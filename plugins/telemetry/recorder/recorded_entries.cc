#include "telemetry/recorder/recorded_entries.h"

#include <algorithm>
#include <span>
#include <string>

#include "atoll/models/model.h"
#include "atoll/request/request_marks.h"

namespace atl::recorder {
namespace {

/// Of an entry, and of each of its parts, beside what is counted.
constexpr uint64_t kEntryBytes = 512, kPartBytes = 128;

uint64_t bytes_of(std::span<const Buffer> buffers) noexcept {
  uint64_t bytes = 0;
  for (const Buffer& buffer : buffers) bytes += buffer.size_bytes;
  return bytes;
}

/// Adds the bytes of the buffer. \returns false: they cannot be reached
bool append(const Buffer& buffer, const DeviceMemory& devices, std::string* bytes) {
  if (buffer.size_bytes == 0) return true;
  if (is_host_ready(buffer)) {
    bytes->append(static_cast<const char*>(buffer.data), buffer.size_bytes);
    return true;
  }
  const size_t before = bytes->size();
  bytes->resize(before + buffer.size_bytes);
  Buffer to;
  to.data = bytes->data() + before;
  to.size_bytes = buffer.size_bytes;
  return devices.copy(to, buffer).ok();
}

void fill_tensor(std::string_view name, DataType datatype, std::span<const int64_t> shape,
                 std::span<const Buffer> buffers, bool with_data, const DeviceMemory& devices,
                 recording::v1::Tensor* tensor) {
  tensor->set_name(std::string(name));
  if (datatype != DataType::kInvalid) tensor->set_datatype(std::string(data_type_name(datatype)));
  tensor->mutable_shape()->Add(shape.begin(), shape.end());
  if (!with_data) return;
  std::string* data = tensor->mutable_data();
  data->reserve(bytes_of(buffers));
  for (const Buffer& buffer : buffers) {
    if (append(buffer, devices, data)) continue;
    tensor->clear_data();
    return;
  }
}

void fill_parameter(const Parameter& parameter, recording::v1::Parameter* entry) {
  entry->set_name(std::string(parameter.key));
  switch (parameter.type) {
    case ParameterType::kString:
      entry->set_text(std::string(parameter.text));
      break;
    case ParameterType::kInt:
      entry->set_number(parameter.int_value);
      break;
    case ParameterType::kBool:
      entry->set_truth(parameter.bool_value);
      break;
    case ParameterType::kDouble:
      entry->set_real(parameter.double_value);
      break;
    case ParameterType::kBytes:
      entry->set_raw(std::string(parameter.text));
      break;
  }
}

/// Of several outputs that a model gives unasked the client gets none.
bool is_wanted(const Request& request, const OutputTensor& output) noexcept {
  return request.outputs.size() == 0 || request.find_output(output.name) != nullptr;
}

}  // namespace

uint64_t entry_bytes(const Request& request, bool tensors) noexcept {
  uint64_t bytes =
      kEntryBytes + request.id.size() + request.sequence.text.size() + request.outputs.size() * kPartBytes;
  for (const InputTensor& input : request.inputs) {
    bytes +=
        kPartBytes + input.name.size() + input.shape.size_bytes() + (tensors ? bytes_of(input.buffers) : 0);
  }
  for (const Parameter& parameter : request.parameters) {
    bytes += kPartBytes + parameter.key.size() + parameter.text.size();
  }
  return bytes;
}

uint64_t entry_bytes(const Request& request, const Response& response, bool tensors) noexcept {
  uint64_t bytes = kEntryBytes + response.error.message().size();
  for (const OutputTensor& output : response.outputs) {
    if (!is_wanted(request, output)) continue;
    bytes += kPartBytes + output.name.size() + output.shape.size_bytes() +
             (tensors ? output.buffer.size_bytes : 0);
  }
  return bytes;
}

void fill_entry(const Request& request, bool tensors, int64_t now_ns, const DeviceMemory& devices,
                recording::v1::Request* entry) {
  const ModelInfo& info = request.model->info();
  entry->set_model(info.name);
  entry->set_version(info.version);
  entry->set_decoupled(info.decoupled);
  entry->set_id(std::string(request.id));
  entry->set_priority(request.priority);
  entry->set_timeout_us(request.timeout_us);
  entry->set_stream(stream_number(request));
  if (request.times.deadline_ns != 0)
    entry->set_deadline_ns(std::max<int64_t>(1, request.times.deadline_ns - now_ns));
  if (!request.sequence.empty()) {
    recording::v1::Sequence& sequence = *entry->mutable_sequence();
    sequence.set_number(request.sequence.number);
    sequence.set_text(std::string(request.sequence.text));
    sequence.set_start((request.sequence_flags & kSequenceStart) != 0);
    sequence.set_end((request.sequence_flags & kSequenceEnd) != 0);
  }
  for (const Parameter& parameter : request.parameters) {
    if (!is_forwarded_header(parameter)) fill_parameter(parameter, entry->add_parameters());
  }
  for (const InputTensor& input : request.inputs) {
    fill_tensor(input.name, input.datatype, input.shape, input.buffers, tensors, devices,
                entry->add_inputs());
  }
  for (const RequestedOutput& output : request.outputs) {
    recording::v1::RequestedOutput& added = *entry->add_outputs();
    added.set_name(std::string(output.name));
    added.set_classification(output.classification);
  }
}

void fill_entry(const Request& request, const Response& response, bool tensors, const DeviceMemory& devices,
                recording::v1::Response* entry) {
  if (!response.error.ok()) {
    entry->set_code(static_cast<uint32_t>(response.error.code()));
    entry->set_message(std::string(response.error.message()));
    return;
  }
  for (const OutputTensor& output : response.outputs) {
    if (!is_wanted(request, output)) continue;
    fill_tensor(output.name, output.datatype, output.shape, {&output.buffer, 1}, tensors, devices,
                entry->add_outputs());
  }
}

}  // namespace atl::recorder
