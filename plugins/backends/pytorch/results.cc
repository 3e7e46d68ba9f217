#include "backends/pytorch/results.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include <cstring>
#include <exception>
#include <limits>

#include "atoll/backend/bytes.h"
#include "backends/pytorch/datatypes.h"

namespace atl::pytorch {
namespace {

Status no_output(const TorchOutputPlan& plan, size_t count) {
  return invalid_argument("the model gives ", count, count == 1 ? " result" : " results",
                          ", expected one at position ", plan.position);
}

bool is_value(const c10::IValue& value) {
  return value.isTensor() || (value.isList() && value.toListRef().empty()) ||
         (value.isList() && value.toListRef()[0].isString());
}

Result<c10::IValue> pick(const TorchOutputPlan& plan, const c10::IValue& result) {
  if (result.isGenericDict()) {
    for (const auto& entry : result.toGenericDict()) {
      if (entry.key().isString() && entry.key().toStringView() == plan.name) return entry.value();
    }
    return invalid_argument("found no key of this name in the dictionary that the model gives");
  }
  const bool is_sequence = result.isTuple() || result.isTensorList();
  if (!is_sequence) return plan.position == 0 ? Result<c10::IValue>(result) : no_output(plan, 1);
  if (result.isTensorList()) {
    const auto tensors = result.toTensorVector();
    return plan.position < tensors.size() ? Result<c10::IValue>(tensors[plan.position])
                                          : no_output(plan, tensors.size());
  }
  const auto& elements = result.toTupleRef().elements();
  return plan.position < elements.size() ? Result<c10::IValue>(elements[plan.position])
                                         : no_output(plan, elements.size());
}

}  // namespace

Result<c10::IValue> value_of(const TorchOutputPlan& plan, const c10::IValue& result) noexcept {
  try {
    Result<c10::IValue> value = pick(plan, result);
    if (!value.ok() || is_value(*value)) return value;
    return invalid_argument("found a result of type ", value->tagKind(),
                            ", expected Tensor or List[str], or a tuple, list or dictionary of such");
  } catch (const std::exception& error) {
    return internal_error(error.what());
  }
}

Status ResultValue::read(const c10::IValue& value, DataType datatype) noexcept try {
  datatype_ = datatype;
  if (!value.isTensor()) {
    if (datatype != DataType::kBytes)
      return invalid_argument("found List[str] from the model, the configuration has ",
                              data_type_name(datatype));
    for (const c10::IValue& text : value.toListRef()) texts_.push_back(text.toStringRef());
    shape_.assign(1, static_cast<int64_t>(texts_.size()));
    count_ = texts_.size();
    return {};
  }
  const at::Tensor& tensor = value.toTensor();
  const DataType found = tensor.defined() ? from_torch(tensor.scalar_type()) : DataType::kInvalid;
  if (found != datatype) {
    return invalid_argument(
        "found datatype ",
        found == DataType::kInvalid ? toString(tensor.scalar_type()) : data_type_name(found),
        " from the model, the configuration has ", data_type_name(datatype));
  }
  tensor_ = tensor.contiguous();
  shape_.assign(tensor_.sizes().begin(), tensor_.sizes().end());
  count_ = static_cast<uint64_t>(tensor_.numel());
  return {};
} catch (const std::exception& error) {
  return internal_error(error.what());
}

uint64_t ResultValue::size_bytes(uint64_t from, uint64_t count) const noexcept {
  if (datatype_ == DataType::kBytes) return backends::encoded_size_bytes(texts(from, count));
  return count * data_type_size_bytes(datatype_);
}

Status ResultValue::write(uint64_t from, uint64_t count, std::byte* to) const noexcept {
  if (count == 0) return {};
  if (datatype_ == DataType::kBytes) {
    Buffer buffer;
    buffer.data = to;
    buffer.size_bytes = size_bytes(from, count);
    return backends::encode_texts(texts(from, count), buffer);
  }
  const uint64_t element_bytes = data_type_size_bytes(datatype_);
  std::memcpy(to, static_cast<const std::byte*>(tensor_.data_ptr()) + from * element_bytes,
              count * element_bytes);
  return {};
}

void ResultValue::done() noexcept {
  tensor_.reset();
  texts_.clear();
  shape_.clear();
  count_ = 0;
}

}  // namespace atl::pytorch
