/// SavedModels and GraphDefs of a few nodes, written without TensorFlow.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atl::tensorflow::test {

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string number_field(uint32_t field, int64_t value) {
  return varint(field << 3) + varint(static_cast<uint64_t>(value));
}
inline std::string bytes_field(uint32_t field, std::string_view bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
inline std::string map_entry(uint32_t field, std::string_view key, std::string_view value) {
  return bytes_field(field, bytes_field(1, key) + bytes_field(2, value));
}

using Dims = std::vector<int64_t>;
inline const Dims kUnknownRank = {-2};

/// TensorShapeProto.
inline std::string shape(const Dims& dims) {
  if (dims == kUnknownRank) return number_field(3, 1);
  std::string bytes;
  for (const int64_t dim : dims) bytes += bytes_field(2, number_field(1, dim));
  return bytes;
}

/// NodeDef. \param attributes  map_entry(5, ...)
inline std::string node(std::string_view name, std::string_view type, const std::vector<std::string>& inputs,
                        std::string_view attributes) {
  std::string bytes = bytes_field(1, name) + bytes_field(2, type);
  for (const std::string& input : inputs) bytes += bytes_field(3, input);
  return bytes_field(1, bytes + std::string(attributes));
}
inline std::string type_attribute(std::string_view key, int32_t type) {
  return map_entry(5, key, number_field(6, type));
}
inline std::string placeholder(std::string_view name, int32_t type, const Dims& dims) {
  return node(name, "Placeholder", {},
              type_attribute("dtype", type) + map_entry(5, "shape", bytes_field(7, shape(dims))));
}
inline std::string identity(std::string_view name, std::string_view input, int32_t type) {
  return node(name, "Identity", {std::string(input)}, type_attribute("T", type));
}
inline std::string sum(std::string_view name, std::string_view a, std::string_view b, int32_t type) {
  return node(name, "AddV2", {std::string(a), std::string(b)}, type_attribute("T", type));
}
/// A Const. \param content  its elements' bytes
inline std::string constant(std::string_view name, int32_t type, const Dims& dims, std::string_view content) {
  const std::string value = number_field(1, type) + bytes_field(2, shape(dims)) + bytes_field(4, content);
  return node(name, "Const", {},
              type_attribute("dtype", type) + map_entry(5, "value", bytes_field(8, value)));
}
inline std::string variable(std::string_view name, int32_t type, const Dims& dims) {
  return node(name, "VariableV2", {},
              type_attribute("dtype", type) + map_entry(5, "shape", bytes_field(7, shape(dims))));
}
inline std::string assign(std::string_view name, std::string_view variable, std::string_view value,
                          int32_t type) {
  return node(name, "Assign", {std::string(variable), std::string(value)}, type_attribute("T", type));
}

/// An input (field 1) or output (field 2) of a signature.
inline std::string tensor(uint32_t field, std::string_view name, std::string_view place, int32_t type,
                          const Dims& dims) {
  return map_entry(field, name, bytes_field(1, place) + number_field(2, type) + bytes_field(3, shape(dims)));
}
inline std::string signature(std::string_view name, std::string_view tensors) {
  return map_entry(5, name, tensors);
}

/// MetaGraphDef. \param signatures  signature(...)
inline std::string meta_graph(const std::vector<std::string>& tags, std::string_view nodes,
                              std::string_view signatures) {
  std::string info;
  for (const std::string& tag : tags) info += bytes_field(4, tag);
  return bytes_field(2, bytes_field(1, info) + bytes_field(2, nodes) + std::string(signatures));
}
inline std::string saved_model(std::string_view meta_graphs) {
  return number_field(1, 1) + std::string(meta_graphs);
}

/// A model whose output "OUTPUT" is the sum of "A" and "B", floats of shape [-1, 2].
inline std::string sum_model() {
  constexpr int32_t kFloat = 1;
  return saved_model(meta_graph(
      {"serve"},
      placeholder("a", kFloat, {-1, 2}) + placeholder("b", kFloat, {-1, 2}) + sum("c", "a", "b", kFloat),
      signature("serving_default", tensor(1, "A", "a:0", kFloat, {-1, 2}) +
                                       tensor(1, "B", "b:0", kFloat, {-1, 2}) +
                                       tensor(2, "OUTPUT", "c:0", kFloat, {-1, 2}))));
}
/// A model whose output "OUTPUT" is its input "INPUT".
inline std::string identity_model(int32_t type, const Dims& dims) {
  return saved_model(meta_graph({"serve"}, placeholder("x", type, dims) + identity("y", "x", type),
                                signature("serving_default", tensor(1, "INPUT", "x:0", type, dims) +
                                                                 tensor(2, "OUTPUT", "y:0", type, dims))));
}

inline void write_file(const std::filesystem::path& file, std::string_view bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}
inline void write_saved_model(const std::filesystem::path& version_folder, std::string_view bytes) {
  write_file(version_folder / "model.savedmodel" / "saved_model.pb", bytes);
}

}  // namespace atl::tensorflow::test
