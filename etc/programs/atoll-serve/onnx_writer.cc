#include "onnx_writer.h"

#include <bit>

namespace atl::serve {
namespace {

// Numbers of fields are those of onnx.proto, in the messages that are named beside them.
constexpr int kOldEnough = 8;  // ModelProto.ir_version, and opset 17: what any runtime of recent years reads
constexpr int kOpset = 17;

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void append_number(std::string& out, uint32_t field, int64_t value) {
  append_varint(out, field << 3);
  append_varint(out, static_cast<uint64_t>(value));
}
void append_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  append_varint(out, field << 3 | 2);
  append_varint(out, bytes.size());
  out += bytes;
}

/// A ValueInfoProto.
std::string value_of(std::string_view name, OnnxType type, int64_t width) {
  std::string batch, number, shape, tensor, kind, value;
  append_bytes(batch, 2, "batch");  // Dimension.dim_param
  append_number(number, 1, width);  // Dimension.dim_value
  append_bytes(shape, 1, batch);    // TensorShapeProto.dim
  append_bytes(shape, 1, number);
  append_number(tensor, 1, static_cast<int64_t>(type));  // TypeProto.Tensor.elem_type, shape
  append_bytes(tensor, 2, shape);
  append_bytes(kind, 1, tensor);  // TypeProto.tensor_type
  append_bytes(value, 1, name);   // ValueInfoProto.name, type
  append_bytes(value, 2, kind);
  return value;
}

}  // namespace

OnnxGraph::OnnxGraph(std::string_view name) { append_bytes(graph_, 2, name); }

void OnnxGraph::add_weights(std::string_view name, std::initializer_list<int64_t> shape,
                            std::span<const int8_t> values, float scale) {
  std::string tensor, numbers;
  for (const int64_t size : shape) append_number(tensor, 1, size);   // TensorProto.dims
  append_number(tensor, 2, static_cast<int64_t>(OnnxType::kFloat));  // data_type
  append_bytes(tensor, 8, name);                                     // name
  for (const int8_t value : values) {
    const auto bits = std::bit_cast<uint32_t>(scale * static_cast<float>(value));
    for (int shift = 0; shift < 32; shift += 8) numbers += static_cast<char>(bits >> shift);
  }
  append_bytes(tensor, 9, numbers);  // raw_data
  append_bytes(graph_, 5, tensor);   // GraphProto.initializer
}

void OnnxGraph::add_node(std::string_view operation, std::initializer_list<std::string_view> inputs,
                         std::string_view output,
                         std::initializer_list<std::pair<std::string_view, int64_t>> attributes) {
  constexpr int kInteger = 2;  // AttributeProto.AttributeType.INT
  std::string node;
  for (const std::string_view input : inputs)
    append_bytes(node, 1, input);  // NodeProto.input, output, name, op_type
  append_bytes(node, 2, output);
  append_bytes(node, 3, output);
  append_bytes(node, 4, operation);
  for (const auto& [name, value] : attributes) {
    std::string attribute;
    append_bytes(attribute, 1, name);  // AttributeProto.name, i, type
    append_number(attribute, 3, value);
    append_number(attribute, 20, kInteger);
    append_bytes(node, 5, attribute);
  }
  append_bytes(graph_, 1, node);
}

void OnnxGraph::add_input(std::string_view name, OnnxType type, int64_t width) {
  append_bytes(graph_, 11, value_of(name, type, width));
}

void OnnxGraph::add_output(std::string_view name, OnnxType type, int64_t width) {
  append_bytes(graph_, 12, value_of(name, type, width));
}

std::string OnnxGraph::file() const {
  std::string opset, model;
  append_number(opset, 2, kOpset);  // OperatorSetIdProto.version
  append_number(model, 1, kOldEnough);
  append_bytes(model, 2, "atoll");  // producer_name
  append_bytes(model, 7, graph_);
  append_bytes(model, 8, opset);
  return model;
}

}  // namespace atl::serve
