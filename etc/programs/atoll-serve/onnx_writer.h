/// Writes small ONNX files: a graph over a batch, with its weights.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace atl::serve {

enum class OnnxType : uint32_t { kFloat = 1, kInt64 = 7 };

/// Nodes are in the order in which they are computed.
class OnnxGraph {
 public:
  explicit OnnxGraph(std::string_view name);
  /// FP32 numbers, each `scale` times one of `values`.
  void add_weights(std::string_view name, std::initializer_list<int64_t> shape,
                   std::span<const int8_t> values, float scale);
  void add_node(std::string_view operation, std::initializer_list<std::string_view> inputs,
                std::string_view output,
                std::initializer_list<std::pair<std::string_view, int64_t>> attributes = {});
  /// Of shape [batch, width].
  void add_input(std::string_view name, OnnxType type, int64_t width);
  void add_output(std::string_view name, OnnxType type, int64_t width);
  std::string file() const;

 private:
  std::string graph_;  // the fields of a GraphProto
};

}  // namespace atl::serve
