#include "backends/pytorch/arguments.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/empty.h>

#include <exception>
#include <string>
#include <utility>

#include "atoll/backend/bytes.h"
#include "atoll/backend/values.h"
#include "backends/pytorch/datatypes.h"

namespace atl::pytorch {
namespace {

using Requests = std::span<Request* const>;

Status too_large(const TorchInputPlan& plan) {
  return invalid_argument("input '", plan.rule.name,
                          "': found more than 2^63 - 1 elements or bytes in the batch");
}

/// The shape of all requests' tensors in one.
Status joined_shape(const TorchModelPlan& model, const TorchInputPlan& plan, Requests requests,
                    uint32_t weight, std::vector<int64_t>& shape) {
  const InputTensor& first = *requests[0]->find_input(plan.rule.name);
  shape.assign(first.shape.begin(), first.shape.end());
  if (model.batches) shape[0] = weight;
  const auto count = element_count(shape);
  int64_t bytes = 0;
  const auto element_bytes = static_cast<int64_t>(data_type_size_bytes(plan.rule.datatype));
  return count && !__builtin_mul_overflow(*count, element_bytes, &bytes) ? Status() : too_large(plan);
}

Result<at::Tensor> make_tensor(const TorchModelPlan& model, const TorchInputPlan& plan, Requests requests,
                               uint32_t weight) {
  std::vector<int64_t> shape;
  ATOLL_RETURN_IF_ERROR(joined_shape(model, plan, requests, weight, shape));
  at::Tensor tensor = at::empty(shape, at::TensorOptions(*to_torch(plan.rule.datatype)));
  Buffer left;
  left.data = tensor.data_ptr();
  left.size_bytes = tensor.nbytes();
  for (const Request* request : requests) {
    const InputTensor& input = *request->find_input(plan.rule.name);
    Result<uint64_t> written = backends::gather(input.buffers, left, input.name);
    if (!written.ok()) return std::move(written).status();
    left.data = static_cast<std::byte*>(left.data) + *written;
    left.size_bytes -= *written;
  }
  return tensor;
}

Result<c10::IValue> make_texts(const TorchInputPlan& plan, Requests requests) {
  c10::List<std::string> texts;
  for (const Request* request : requests) {
    const InputTensor& input = *request->find_input(plan.rule.name);
    const auto count = static_cast<size_t>(*element_count(input.shape));
    std::vector<std::string> elements(count);
    ATOLL_RETURN_IF_ERROR(
        backends::read_elements(input, count, [&](size_t index, uint32_t size) -> Result<char*> {
          elements[index].resize(size);
          return elements[index].data();
        }));
    for (std::string& element : elements) texts.push_back(std::move(element));
  }
  return c10::IValue(std::move(texts));
}

Result<c10::IValue> make_value(const TorchModelPlan& model, const TorchInputPlan& plan, Requests requests,
                               uint32_t weight) {
  if (plan.texts) return make_texts(plan, requests);
  Result<at::Tensor> tensor = make_tensor(model, plan, requests, weight);
  if (!tensor.ok()) return std::move(tensor).status();
  return c10::IValue(std::move(tensor).value());
}

/// A dictionary or a list of all inputs.
Result<c10::IValue> make_collection(const TorchModelPlan& model, Requests requests, uint32_t weight) {
  c10::Dict<std::string, at::Tensor> by_name;
  std::vector<at::Tensor> by_position(model.inputs.size());
  for (const TorchInputPlan& plan : model.inputs) {
    Result<at::Tensor> tensor = make_tensor(model, plan, requests, weight);
    if (!tensor.ok()) return std::move(tensor).status();
    if (model.form == InputForm::kDictionary) {
      by_name.insert(plan.rule.name, *tensor);
    } else {
      by_position[plan.position] = *tensor;
    }
  }
  if (model.form == InputForm::kDictionary) return c10::IValue(std::move(by_name));
  return c10::IValue(c10::List<at::Tensor>(std::move(by_position)));
}

Result<std::vector<c10::IValue>> make_all(const TorchModelPlan& model, Requests requests, uint32_t weight) {
  std::vector<c10::IValue> arguments;
  if (model.form != InputForm::kArguments) {
    Result<c10::IValue> collection = make_collection(model, requests, weight);
    if (!collection.ok()) return std::move(collection).status();
    arguments.push_back(std::move(collection).value());
    return arguments;
  }
  // A default may be a list, which forward() may change.
  for (const c10::IValue& stand_in : model.stand_ins) arguments.push_back(stand_in.deepcopy());
  for (const TorchInputPlan& plan : model.inputs) {
    if (requests[0]->find_input(plan.rule.name) == nullptr) continue;
    Result<c10::IValue> value = make_value(model, plan, requests, weight);
    if (!value.ok()) return std::move(value).status();
    arguments[plan.position] = std::move(value).value();
  }
  return arguments;
}

}  // namespace

Result<std::vector<c10::IValue>> make_arguments(const TorchModelPlan& plan,
                                                std::span<Request* const> requests,
                                                uint32_t weight) noexcept {
  try {
    return make_all(plan, requests, weight);
  } catch (const std::exception& error) {  // of an allocation
    return make_status(Code::kResourceExhausted, "no memory for the inputs of a batch: ", error.what());
  }
}

}  // namespace atl::pytorch
