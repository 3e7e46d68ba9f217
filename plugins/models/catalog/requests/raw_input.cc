#include "models/catalog/requests/raw_input.h"

#include <cstring>

#include "models/catalog/requests/validate.h"

namespace atl::models {
namespace {

/// A BYTES element needs its length in front of it.
void prepend_length(Request& request, InputTensor& input) noexcept {
  Arena& arena = request.arena();
  auto length = static_cast<uint32_t>(input.size_bytes);
  auto* bytes = arena.make_array<unsigned char>(sizeof length);
  std::memcpy(bytes, &length, sizeof length);
  auto* buffers = arena.make_array<Buffer>(input.buffers.size() + 1);
  buffers[0].data = bytes;
  buffers[0].size_bytes = sizeof length;
  for (size_t i = 0; i < input.buffers.size(); ++i) buffers[i + 1] = input.buffers[i];
  input.buffers = {buffers, input.buffers.size() + 1};
  input.size_bytes += sizeof length;
}

Status deduce(Request& request, InputTensor& input, const ModelInfo& info, const TensorSpec& spec) noexcept {
  size_t batch_dims = info.max_batch_size != 0 && !spec.shape_tensor ? 1 : 0;
  auto* shape = request.arena().make_array<int64_t>(spec.dims.size() + batch_dims);
  if (batch_dims != 0) shape[0] = 1;
  int64_t others = 1;
  int64_t* variable = nullptr;
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    int64_t dim = shape[i + batch_dims] = spec.dims[i];
    if (dim == -1 && variable != nullptr) {
      return invalid_argument(request_prefix(request), "The shape of the raw input '", spec.name,
                              "' can not be deduced because there are more than one variable-sized "
                              "dimension");
    }
    if (dim == -1) {
      variable = &shape[i + batch_dims];
    } else if (__builtin_mul_overflow(others, dim, &others)) {
      others = 0;  // a size that no input can have: the size check refuses it
    }
  }
  input.name = spec.name;
  input.datatype = spec.datatype;
  input.shape = {shape, spec.dims.size() + batch_dims};
  if (spec.datatype == DataType::kBytes) {
    if (variable != nullptr || others != 1 || input.size_bytes > UINT32_MAX) {
      return invalid_argument(request_prefix(request), "For BYTE datatype raw input '", spec.name,
                              "', the model must have input shape [1]");
    }
    prepend_length(request, input);
  } else if (variable != nullptr) {
    uint64_t element_bytes = data_type_size_bytes(spec.datatype);
    uint64_t elements = element_bytes == 0 ? 0 : input.size_bytes / element_bytes;
    *variable = others == 0 ? 0 : static_cast<int64_t>(elements / static_cast<uint64_t>(others));
  }
  return {};
}

}  // namespace

Status complete_raw_input(Request& request, const ModelInfo& info) noexcept {
  InputTensor* raw = nullptr;
  for (InputTensor& input : request.inputs) {
    if ((input.flags & InputTensor::kRaw) != 0) raw = &input;
  }
  if (raw == nullptr) return {};
  if (request.inputs.size() != 1 || info.inputs.size() != 1) {
    return invalid_argument(request_prefix(request), "Raw request must only have 1 input (found ",
                            request.inputs.size(), ") to be deduced but got ", info.inputs.size(),
                            " inputs in '", info.name, "' model configuration");
  }
  raw->size_bytes = 0;
  for (const Buffer& buffer : raw->buffers) raw->size_bytes += buffer.size_bytes;
  ATOLL_RETURN_IF_ERROR(deduce(request, *raw, info, info.inputs[0]));
  raw->flags &= ~static_cast<uint32_t>(InputTensor::kRaw);
  return {};
}

}  // namespace atl::models
