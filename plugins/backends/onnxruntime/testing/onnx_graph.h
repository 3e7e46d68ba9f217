/// Makes small ONNX files for tests, byte by byte: an ONNX model is a protobuf message, and the few fields
/// that a test needs are quicker written than a second library is linked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/onnxruntime/datatypes.h"

namespace atl::ort::test {

/// A protobuf message in the making.
class Message {
 public:
  Message& number(uint32_t field, int64_t value) {
    varint(uint64_t{field} << 3);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& text(uint32_t field, std::string_view value) {
    varint(uint64_t{field} << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(uint32_t field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

inline constexpr int64_t kBatch = -1;  ///< the dimension named "batch"
inline constexpr int64_t kAny = -2;    ///< a dimension without name or value

/// A graph of one or more nodes. Field numbers are those of onnx.proto.
class OnnxGraph {
 public:
  using Dims = std::vector<int64_t>;

  OnnxGraph& input(std::string_view name, int element_type, const Dims& dims) {
    graph_.message(11, value_info(name, element_type, &dims));
    return *this;
  }
  OnnxGraph& input(std::string_view name, DataType type, const Dims& dims) {
    return input(name, to_onnx(type), dims);
  }
  OnnxGraph& output(std::string_view name, int element_type, const Dims& dims) {
    graph_.message(12, value_info(name, element_type, &dims));
    return *this;
  }
  OnnxGraph& output(std::string_view name, DataType type, const Dims& dims) {
    return output(name, to_onnx(type), dims);
  }
  /// An output about whose shape the model says nothing.
  OnnxGraph& output_of_unknown_shape(std::string_view name, DataType type) {
    graph_.message(12, value_info(name, to_onnx(type), nullptr));
    return *this;
  }
  OnnxGraph& sequence_output(std::string_view name, DataType type) {
    Message element = Message().message(1, Message().message(1, Message().number(1, to_onnx(type))));
    graph_.message(12, Message().text(1, name).message(2, Message().message(4, element)));
    return *this;
  }
  OnnxGraph& node(std::string_view type, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs,
                  const std::vector<std::pair<std::string, int64_t>>& attributes = {}) {
    Message node;
    for (const auto& name : inputs) node.text(1, name);
    for (const auto& name : outputs) node.text(2, name);
    node.text(4, type);
    for (const auto& [name, value] : attributes)
      node.message(5, Message().text(1, name).number(3, value).number(20, 2));
    graph_.message(1, node);
    return *this;
  }
  OnnxGraph& initializer(std::string_view name, DataType type, const Dims& dims, std::string_view bytes) {
    Message tensor;
    for (int64_t dim : dims) tensor.number(1, dim);
    graph_.message(5, tensor.number(2, to_onnx(type)).text(8, name).text(9, bytes));
    return *this;
  }
  /// The file's bytes.
  std::string file() const {
    Message graph = graph_;
    graph.text(2, "test");
    return Message().number(1, 8).message(7, graph).message(8, Message().text(1, "").number(2, 17)).bytes();
  }

 private:
  static Message value_info(std::string_view name, int element_type, const Dims* dims) {
    Message tensor;
    tensor.number(1, element_type);
    if (dims != nullptr) {
      Message shape;
      for (int64_t dim : *dims) {
        Message dimension;
        if (dim >= 0) dimension.number(1, dim);
        if (dim == kBatch) dimension.text(2, "batch");
        shape.message(1, dimension);
      }
      tensor.message(2, shape);
    }
    return Message().text(1, name).message(2, Message().message(1, tensor));
  }
  Message graph_;
};

/// INPUT0 -> OUTPUT0
inline OnnxGraph identity_graph(DataType type, const OnnxGraph::Dims& dims) {
  OnnxGraph graph;
  graph.input("INPUT0", type, dims).output("OUTPUT0", type, dims).node("Identity", {"INPUT0"}, {"OUTPUT0"});
  return graph;
}

}  // namespace atl::ort::test
