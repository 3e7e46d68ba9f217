#include "backends/onnxruntime/result_tensor.h"

#include <algorithm>
#include <cstring>

namespace atl::ort {

Status ResultTensor::read(OrtValue& value, DataType datatype) noexcept {
  datatype_ = datatype;
  Handle<OrtTensorTypeAndShapeInfo> info;
  ATOLL_RETURN_IF_ERROR(make(info, api().GetTensorTypeAndShape, &value));
  size_t rank = 0;
  ATOLL_RETURN_IF_ERROR(check(api().GetDimensionsCount(info.get(), &rank)));
  shape_.resize(rank);
  ATOLL_RETURN_IF_ERROR(check(api().GetDimensions(info.get(), shape_.data(), rank)));
  count_ = static_cast<uint64_t>(atl::element_count(shape_).value_or(0));
  if (datatype == DataType::kBytes) return strings_.read(value, count_);
  void* data = nullptr;
  ATOLL_RETURN_IF_ERROR(check(api().GetTensorMutableData(&value, &data)));
  data_ = static_cast<const std::byte*>(data);
  return {};
}

uint64_t ResultTensor::size_bytes(uint64_t from, uint64_t count) const noexcept {
  if (datatype_ == DataType::kBytes) return strings_.encoded_size_bytes(from, count);
  return count * data_type_size_bytes(datatype_);
}

Status ResultTensor::write(uint64_t from, uint64_t count, std::byte* to) const noexcept {
  if (count == 0) return {};
  if (datatype_ == DataType::kBytes) return strings_.encode(from, count, to);
  uint64_t element_bytes = data_type_size_bytes(datatype_);
  std::memcpy(to, data_ + from * element_bytes, count * element_bytes);
  return {};
}

bool ResultTensor::all_true(uint64_t from, uint64_t count) const noexcept {
  return std::ranges::all_of(std::span(data_ + from, count),
                             [](std::byte element) { return element != std::byte{0}; });
}

}  // namespace atl::ort
