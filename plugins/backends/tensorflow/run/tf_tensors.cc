#include "backends/tensorflow/run/tf_tensors.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "atoll/backend/bytes.h"
#include "atoll/backend/values.h"
#include "backends/tensorflow/graph/tf_datatypes.h"

namespace atl::tensorflow {
namespace {

using Requests = std::span<Request* const>;

constexpr size_t kAlignment = 64;  // of memory that TensorFlow takes as it is

Status too_large(const TfInputPlan& plan) {
  return invalid_argument("input '", plan.name, "': found more than 2^63 - 1 elements or bytes in the batch");
}
Status no_memory(const TfInputPlan& plan, uint64_t bytes) {
  return make_status(Code::kResourceExhausted, "input '", plan.name, "': no memory for the ", bytes,
                     " bytes of a batch");
}

/// The shape of all requests' inputs in one.
Result<std::vector<int64_t>> joined_shape(const TfModelPlan& model, const TfInputPlan& plan,
                                          Requests requests, uint32_t weight) {
  const InputTensor& first = *requests[0]->find_input(plan.name);
  std::vector<int64_t> shape;
  if (plan.ragged) {
    int64_t elements = 0;
    for (const Request* request : requests) {
      if (__builtin_add_overflow(elements, *element_count(request->find_input(plan.name)->shape), &elements))
        return too_large(plan);
    }
    shape.push_back(elements);
  } else if (!plan.scalar) {
    shape.assign(first.shape.begin(), first.shape.end());
    if (model.batches) shape[0] = weight;
  }
  const auto count = element_count(shape);
  const uint64_t element_bytes =
      plan.datatype == DataType::kBytes ? sizeof(TF_TString) : data_type_size_bytes(plan.datatype);
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(element_bytes), &bytes))
    return too_large(plan);
  return shape;
}

/// Owns the texts until the last user of the tensor is done, which may be after the run.
void free_texts(void* data, size_t bytes, void*) {
  auto* const texts = static_cast<TF_TString*>(data);
  for (size_t i = 0; i < bytes / sizeof(TF_TString); ++i) tf().TF_StringDealloc(&texts[i]);
  std::free(data);
}

Result<TfHandle<TF_Tensor>> make_texts(const TfInputPlan& plan, std::span<const int64_t> shape) {
  const auto count = static_cast<size_t>(*element_count(shape));
  const size_t bytes = count * sizeof(TF_TString);
  const size_t room = (bytes + kAlignment) / kAlignment * kAlignment;  // never nothing
  auto* const texts = static_cast<TF_TString*>(std::aligned_alloc(kAlignment, room));
  if (texts == nullptr) return no_memory(plan, bytes);
  for (size_t i = 0; i < count; ++i) tf().TF_StringInit(&texts[i]);
  return TfHandle<TF_Tensor>(tf().TF_NewTensor(kTfString, shape.data(), static_cast<int>(shape.size()), texts,
                                               bytes, &free_texts, nullptr));
}

Status fill_texts(const TfInputPlan& plan, Requests requests, TF_Tensor& tensor) {
  auto* text = static_cast<TF_TString*>(tf().TF_TensorData(&tensor));
  std::string element;
  for (const Request* request : requests) {
    const InputTensor& input = *request->find_input(plan.name);
    const auto count = static_cast<size_t>(*element_count(input.shape));
    // An element is complete when the next one is asked for, and the last one at the end.
    TF_TString* open = nullptr;
    const auto close = [&] {
      if (open != nullptr) tf().TF_StringCopy(open, element.data(), element.size());
    };
    ATOLL_RETURN_IF_ERROR(
        backends::read_elements(input, count, [&](size_t index, uint32_t size) -> Result<char*> {
          close();
          open = text + index;
          element.resize(size);
          return element.data();
        }));
    close();
    text += count;
  }
  return {};
}

Result<TfHandle<TF_Tensor>> allocate(const TfInputPlan& plan, std::span<const int64_t> shape,
                                     uint64_t bytes) {
  TfHandle<TF_Tensor> tensor(tf().TF_AllocateTensor(to_tensorflow(plan.datatype), shape.data(),
                                                    static_cast<int>(shape.size()), bytes));
  if (tensor == nullptr || (bytes != 0 && tf().TF_TensorData(tensor.get()) == nullptr))
    return no_memory(plan, bytes);
  return tensor;
}

std::string_view text_at(const std::byte* data, uint64_t index) {
  const TF_TString* const text = reinterpret_cast<const TF_TString*>(data) + index;
  return {tf().TF_StringGetDataPointer(text), tf().TF_StringGetSize(text)};
}

}  // namespace

Result<TfHandle<TF_Tensor>> join_inputs(const TfModelPlan& model, const TfInputPlan& plan, Requests requests,
                                        uint32_t weight) noexcept {
  auto shape = joined_shape(model, plan, requests, weight);
  if (!shape.ok()) return std::move(shape).status();
  if (plan.datatype == DataType::kBytes) {
    auto tensor = make_texts(plan, *shape);
    if (tensor.ok()) ATOLL_RETURN_IF_ERROR(fill_texts(plan, requests, **tensor));
    return tensor;
  }
  const uint64_t bytes = static_cast<uint64_t>(*element_count(*shape)) * data_type_size_bytes(plan.datatype);
  auto tensor = allocate(plan, *shape, bytes);
  if (!tensor.ok()) return tensor;
  Buffer left;
  left.data = tf().TF_TensorData(tensor->get());
  left.size_bytes = bytes;
  for (const Request* request : requests) {
    const InputTensor& input = *request->find_input(plan.name);
    Result<uint64_t> written = backends::gather(input.buffers, left, input.name);
    if (!written.ok()) return std::move(written).status();
    left.data = static_cast<std::byte*>(left.data) + *written;
    left.size_bytes -= *written;
  }
  return tensor;
}

Result<TfHandle<TF_Tensor>> make_batch_input(const TfModelPlan& model, const TfInputPlan& plan,
                                             Requests requests) noexcept {
  const backends::BatchInput& made = model.batch_inputs[static_cast<size_t>(plan.batch_input)];
  std::vector<int64_t> shape;
  auto bytes = backends::batch_input_shape(made, requests, shape);
  if (!bytes.ok()) return std::move(bytes).status();
  auto tensor = allocate(plan, shape, *bytes);
  if (tensor.ok() && *bytes != 0) {
    backends::write_batch_input(made, requests,
                                {static_cast<std::byte*>(tf().TF_TensorData(tensor->get())), *bytes});
  }
  return tensor;
}

Status TfResult::read(const TF_Tensor& tensor, DataType datatype) noexcept {
  datatype_ = datatype;
  const TfType type = tf().TF_TensorType(&tensor);
  if (type != to_tensorflow(datatype)) {
    return internal_error("found TensorFlow's type ", type, " from the model, expected ",
                          data_type_name(datatype));
  }
  shape_.resize(static_cast<size_t>(std::max(0, tf().TF_NumDims(&tensor))));
  for (size_t i = 0; i < shape_.size(); ++i) shape_[i] = tf().TF_Dim(&tensor, static_cast<int>(i));
  count_ = static_cast<uint64_t>(atl::element_count(shape_).value_or(0));
  data_ = static_cast<const std::byte*>(tf().TF_TensorData(&tensor));
  return {};
}

uint64_t TfResult::size_bytes(uint64_t from, uint64_t count) const noexcept {
  if (datatype_ != DataType::kBytes) return count * data_type_size_bytes(datatype_);
  uint64_t sum = count * backends::kLengthBytes;
  for (uint64_t i = from; i < from + count; ++i) sum += text_at(data_, i).size();
  return sum;
}

Status TfResult::write(uint64_t from, uint64_t count, std::byte* to) const noexcept {
  if (count == 0) return {};
  if (datatype_ != DataType::kBytes) {
    const uint64_t element_bytes = data_type_size_bytes(datatype_);
    std::memcpy(to, data_ + from * element_bytes, count * element_bytes);
    return {};
  }
  for (uint64_t i = from; i < from + count; ++i) {
    const std::string_view text = text_at(data_, i);
    if (text.size() > std::numeric_limits<uint32_t>::max())
      return invalid_argument("element ", i, ": found ", text.size(), " bytes, expected less than 4 GiB");
    to = backends::put_length(static_cast<uint32_t>(text.size()), to);
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    to += text.size();
  }
  return {};
}

}  // namespace atl::tensorflow
