#include "backends/python/calls/response_reader.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "atoll/backend/values.h"

namespace atl::python {
namespace {

constexpr Code kCodes[] = {Code::kUnknown,         Code::kInternal,    Code::kNotFound,
                           Code::kInvalidArgument, Code::kUnavailable, Code::kUnimplemented,
                           Code::kAlreadyExists,   Code::kCancelled};

Status broken(std::string_view what) { return invalid_argument("found ", what, " outside of its memory"); }

Status copy_output(const ReceivedTensor& tensor, OutputTensor& output) {
  if (tensor.size_bytes == 0) return {};
  if (!backends::is_host_memory(output.buffer.kind)) {
    return internal_error("output '", tensor.name, "': found a buffer in GPU memory, expected CPU memory");
  }
  std::memcpy(output.buffer.data, tensor.data, tensor.size_bytes);
  if (tensor.datatype != DataType::kBytes) return {};
  const auto count = static_cast<uint64_t>(element_count(tensor.dims()).value_or(0));
  const auto* copy = static_cast<const std::byte*>(output.buffer.data);
  if (are_elements({copy, tensor.size_bytes}, count)) return {};
  return internal_error("output '", tensor.name, "' has ", tensor.size_bytes, " bytes, which are not the ",
                        count, " elements of shape ", shape_text(tensor.dims()));
}

Status add_output(const ReceivedTensor& tensor, const Request& request, size_t guess, Response& response) {
  const RequestedOutput* wanted = request.find_output(tensor.name, guess);
  if (wanted == nullptr) return {};
  for (const OutputTensor& there : response.outputs) {
    if (there.name == wanted->name) return internal_error("output '", tensor.name, "' is there twice");
  }
  OutputTensor& output = response.add_output(*wanted, tensor.datatype, tensor.dims());
  ATOLL_RETURN_IF_ERROR(response.allocate(output, tensor.size_bytes));
  return copy_output(tensor, output);
}

}  // namespace

Code code_of(uint32_t triton_code) noexcept {
  return triton_code < std::size(kCodes) ? kCodes[triton_code] : Code::kInternal;
}

uint32_t triton_code_of(Code code) noexcept {
  for (uint32_t i = 0; i < std::size(kCodes); ++i) {
    if (kCodes[i] == code) return i;
  }
  return code == Code::kResourceExhausted || code == Code::kDeadlineExceeded ? 4 : 1;
}

Status read_responses(const PayloadView& payload, std::vector<ResponseRecord>& records) {
  ResponsesHeader header;
  if (!payload.read(0, header)) return broken("the head of responses");
  if (header.response_count > kRecordsMax ||
      header.response_count * sizeof(ResponseRecord) > payload.size_bytes()) {
    return broken("responses");
  }
  records.resize(header.response_count);
  if (!payload.read_array(header.responses, std::span(records))) return broken("responses");
  for (const ResponseRecord& record : records) {
    if (record.tensor_count > kRecordsMax ||
        record.tensor_count * sizeof(TensorRecord) > payload.size_bytes()) {
      return broken("tensors");
    }
  }
  return {};
}

Status read_tensor(const PayloadView& payload, const SlabTable& slabs, uint64_t at, ReceivedTensor& tensor) {
  TensorRecord record;
  if (!payload.read(at, record)) return broken("a tensor");
  if (!payload.read(record.name, tensor.name)) return broken("a tensor's name");
  if (record.datatype == 0 || record.datatype >= kDataTypeCount) {
    return invalid_argument("found ", record.datatype, " as type of tensor '", tensor.name, "'");
  }
  tensor.datatype = static_cast<DataType>(record.datatype);
  if (record.rank > kMaxRank) {
    return invalid_argument("found ", record.rank, " dimensions of tensor '", tensor.name,
                            "', expected at most ", kMaxRank);
  }
  tensor.rank = record.rank;
  if (!payload.read_array(record.shape, std::span(tensor.shape, record.rank)))
    return broken("a tensor's shape");
  const auto count = element_count(tensor.dims());
  const uint64_t element = data_type_size_bytes(tensor.datatype);
  uint64_t size = 0;
  if (!count || __builtin_mul_overflow(static_cast<uint64_t>(*count), element, &size) ||
      (element != 0 && size != record.data.size_bytes)) {
    return invalid_argument("found ", record.data.size_bytes, " bytes of tensor '", tensor.name, "' of type ",
                            data_type_name(tensor.datatype), " and shape ", shape_text(tensor.dims()));
  }
  tensor.size_bytes = record.data.size_bytes;
  tensor.data =
      tensor.size_bytes == 0 ? nullptr : slabs.find(record.data.slab, record.data.offset, tensor.size_bytes);
  if (tensor.size_bytes != 0 && tensor.data == nullptr) return broken("a tensor's bytes");
  return {};
}

bool are_elements(std::span<const std::byte> bytes, uint64_t count) noexcept {
  uint64_t found = 0;
  while (!bytes.empty()) {
    uint32_t size = 0;
    if (bytes.size() < sizeof size) return false;
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes = bytes.subspan(sizeof size);
    if (size > bytes.size()) return false;
    bytes = bytes.subspan(size);
    ++found;
  }
  return found == count;
}

Status fill_response(const PayloadView& payload, const SlabTable& slabs, const ResponseRecord& record,
                     const Request& request, Response& response, Status& failure) {
  if (record.parameters.size_bytes != 0) {
    std::string json;
    if (!payload.read(record.parameters, json)) return broken("a response's parameters");
    if (!read_parameters(json, response.arena(), response.parameters)) {
      return invalid_argument("found parameters of a response that are no JSON object");
    }
  }
  if ((record.flags & ResponseRecord::kError) != 0) {
    std::string text;
    if (!payload.read(record.error, text)) return broken("an error's text");
    failure = Status(code_of(record.error_code), std::move(text));
    return {};
  }
  ReceivedTensor tensor;
  for (uint32_t i = 0; i < record.tensor_count; ++i) {
    ATOLL_RETURN_IF_ERROR(
        read_tensor(payload, slabs, record.tensors + uint64_t{i} * sizeof(TensorRecord), tensor));
    failure = add_output(tensor, request, i, response);
    if (!failure.ok()) return {};
  }
  return {};
}

bool read_parameters(const std::string& json, Arena& arena, ArenaList<Parameter>& parameters) {
  const nlohmann::json object = nlohmann::json::parse(json, nullptr, false);
  if (!object.is_object()) return false;
  for (const auto& [key, value] : object.items()) {
    Parameter parameter;
    if (value.is_boolean()) {
      parameter.type = ParameterType::kBool;
      parameter.bool_value = value.get<bool>();
    } else if (value.is_number_integer()) {
      parameter.type = ParameterType::kInt;
      parameter.int_value = value.get<int64_t>();
    } else if (value.is_number()) {
      parameter.type = ParameterType::kDouble;
      parameter.double_value = value.get<double>();
    } else if (value.is_string()) {
      parameter.text = arena.copy_text(value.get_ref<const std::string&>());
    } else {
      continue;
    }
    parameter.key = arena.copy_text(key);
    parameters.add(arena) = parameter;
  }
  return true;
}

}  // namespace atl::python
