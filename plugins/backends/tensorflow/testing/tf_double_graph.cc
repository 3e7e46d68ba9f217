#include "backends/tensorflow/testing/tf_double_graph.h"

#include <cstdlib>
#include <cstring>

#include "atoll/core/text.h"
#include "backends/tensorflow/graph/proto_fields.h"

namespace atl::tensorflow {
namespace {

constexpr int kInvalidArgument = 3, kFailedPrecondition = 9, kUnimplemented = 12;
constexpr TfType kFloat = 1, kInt32 = 3;

TF_Tensor tensor_of(TfType type, std::vector<int64_t> dims, std::string_view bytes) {
  TF_Tensor tensor;
  tensor.type = type;
  tensor.dims = std::move(dims);
  tensor.bytes = bytes.size();
  tensor.data = std::shared_ptr<void>(std::malloc(bytes.size() + 1), std::free);
  std::memcpy(tensor.data.get(), bytes.data(), bytes.size());
  return tensor;
}

bool read_shape(std::string_view message, bool& unknown_rank, std::vector<int64_t>& dims) {
  unknown_rank = false;
  ProtoFields fields(message);
  while (fields.next()) {
    if (fields.is_varint(3)) unknown_rank = fields.value() != 0;
    if (!fields.is_bytes(2)) continue;
    dims.push_back(0);
    ProtoFields size(fields.bytes());
    while (size.next()) {
      if (size.is_varint(1)) dims.back() = static_cast<int64_t>(size.value());
    }
  }
  return fields.ok();
}

bool read_value(std::string_view message, TF_Operation& operation) {
  TfType type = 0;
  bool unknown_rank = false;
  std::vector<int64_t> dims;
  std::string_view content;
  ProtoFields fields(message);
  while (fields.next()) {
    if (fields.is_varint(1)) type = static_cast<TfType>(fields.value());
    if (fields.is_bytes(2) && !read_shape(fields.bytes(), unknown_rank, dims)) return false;
    if (fields.is_bytes(4)) content = fields.bytes();
  }
  operation.value = std::make_unique<TF_Tensor>(tensor_of(type, std::move(dims), content));
  return fields.ok();
}

bool read_attribute(std::string_view entry, TF_Operation& operation) {
  std::string_view key, value;
  ProtoFields fields(entry);
  while (fields.next()) {
    if (fields.is_bytes(1)) key = fields.bytes();
    if (fields.is_bytes(2)) value = fields.bytes();
  }
  ProtoFields content(value);
  while (content.next()) {
    if ((key == "dtype" || key == "T") && content.is_varint(6))
      operation.dtype = static_cast<TfType>(content.value());
    if (key == "shape" && content.is_bytes(7) &&
        !read_shape(content.bytes(), operation.unknown_rank, operation.dims))
      return false;
    if (key == "value" && content.is_bytes(8) && !read_value(content.bytes(), operation)) return false;
  }
  return fields.ok() && content.ok();
}

bool read_node(std::string_view node, TF_Operation& operation) {
  ProtoFields fields(node);
  while (fields.next()) {
    if (fields.is_bytes(1)) operation.name = fields.bytes();
    if (fields.is_bytes(2)) operation.type = fields.bytes();
    if (fields.is_bytes(3)) operation.inputs.emplace_back(fields.bytes());
    if (fields.is_bytes(5) && !read_attribute(fields.bytes(), operation)) return false;
  }
  return fields.ok();
}

template <class T>
void add_values(const TF_Tensor& a, const TF_Tensor& b, TF_Tensor& sum) {
  for (size_t i = 0; i < sum.bytes / sizeof(T); ++i) {
    static_cast<T*>(sum.data.get())[i] =
        static_cast<const T*>(a.data.get())[i] + static_cast<const T*>(b.data.get())[i];
  }
}

}  // namespace

bool TF_Graph::parse(std::string_view graph_def) {
  ProtoFields fields(graph_def);
  while (fields.next()) {
    if (!fields.is_bytes(1)) continue;
    TF_Operation operation;
    if (!read_node(fields.bytes(), operation)) return false;
    std::string name = operation.name;
    operations.insert_or_assign(std::move(name), std::move(operation));
  }
  return fields.ok();
}

std::unique_ptr<TF_Tensor> DoubleRun::compute(const std::string& name) {
  if (auto fed = fed_.find(name); fed != fed_.end()) return std::make_unique<TF_Tensor>(fed->second);
  const auto found = session_.graph->operations.find(name);
  if (found == session_.graph->operations.end()) return fail(kInvalidArgument, cat("no operation ", name));
  const TF_Operation& operation = found->second;
  if (operation.type == "Identity" || operation.type == "PlaceholderWithDefault")
    return compute(operation.inputs.at(0));
  if (operation.type == "AddV2") return add(operation);
  if (operation.type == "Const") return std::make_unique<TF_Tensor>(*operation.value);
  if (operation.type == "Assign") return assign(operation);
  if (operation.type == "VariableV2") {
    const auto variable = session_.variables.find(name);
    if (variable != session_.variables.end()) return std::make_unique<TF_Tensor>(variable->second);
    return fail(kFailedPrecondition, cat("Attempting to use uninitialized value ", name));
  }
  if (operation.type == "Placeholder") {
    return fail(kInvalidArgument,
                cat("You must feed a value for placeholder tensor '", name, "'\nand more of it"));
  }
  return fail(kUnimplemented, cat("the double has no operation of type ", operation.type));
}

std::unique_ptr<TF_Tensor> DoubleRun::add(const TF_Operation& operation) {
  const auto a = compute(operation.inputs.at(0));
  const auto b = a == nullptr ? nullptr : compute(operation.inputs.at(1));
  if (b == nullptr) return nullptr;
  if (a->type != b->type || a->dims != b->dims) {
    return fail(kInvalidArgument,
                cat("Incompatible shapes: ", shape_text(a->dims), " vs. ", shape_text(b->dims)));
  }
  auto sum = std::make_unique<TF_Tensor>(
      tensor_of(a->type, a->dims, {static_cast<const char*>(a->data.get()), a->bytes}));
  if (a->type == kFloat) {
    add_values<float>(*a, *b, *sum);
  } else if (a->type == kInt32) {
    add_values<int32_t>(*a, *b, *sum);
  } else {
    return fail(kUnimplemented, "the double adds FP32 and INT32 only");
  }
  return sum;
}

std::unique_ptr<TF_Tensor> DoubleRun::assign(const TF_Operation& operation) {
  auto value = compute(operation.inputs.at(1));
  if (value != nullptr) session_.variables[operation.inputs.at(0)] = *value;
  return value;
}

}  // namespace atl::tensorflow
