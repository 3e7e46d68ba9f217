/// Models with ragged inputs, batch inputs and batch outputs.
#pragma once

#include <string>

#include "backends/onnxruntime/testing/instance_fixture.h"

namespace atl::ort::test {

/// SUM[i] = FACTOR[i] * the sum of INPUT's elements between OFFSETS[i] and OFFSETS[i + 1]: what each request
/// gave, if it gave one row. DOUBLE is twice INPUT, flat as INPUT is.
inline OnnxGraph segment_sum_graph() {
  using atl::test::bytes_of;
  OnnxGraph graph;
  graph.input("INPUT", DataType::kFp32, {kAny}).input("FACTOR", DataType::kFp32, {kBatch, 1});
  graph.input("OFFSETS", DataType::kInt32, {kAny});
  graph.output("SUM", DataType::kFp32, {kBatch, 1}).output("DOUBLE", DataType::kFp32, {kAny});
  graph.initializer("AXIS", DataType::kInt64, {}, bytes_of<int64_t>({0}));
  graph.initializer("ZERO", DataType::kFp32, {1}, bytes_of<float>({0}));
  graph.initializer("TWO", DataType::kFp32, {1}, bytes_of<float>({2}));
  graph.initializer("FIRST", DataType::kInt64, {1}, bytes_of<int64_t>({0}));
  graph.initializer("SECOND", DataType::kInt64, {1}, bytes_of<int64_t>({1}));
  graph.initializer("LAST", DataType::kInt64, {1}, bytes_of<int64_t>({-1}));
  graph.initializer("END", DataType::kInt64, {1}, bytes_of<int64_t>({INT64_MAX}));
  graph.node("Mul", {"INPUT", "TWO"}, {"DOUBLE"});
  graph.node("CumSum", {"INPUT", "AXIS"}, {"running"});
  graph.node("Concat", {"ZERO", "running"}, {"from_zero"}, {{"axis", 0}});
  graph.node("Gather", {"from_zero", "OFFSETS"}, {"bounds"});
  graph.node("Slice", {"bounds", "SECOND", "END"}, {"ends"});
  graph.node("Slice", {"bounds", "FIRST", "LAST"}, {"starts"});
  graph.node("Sub", {"ends", "starts"}, {"sums"});
  graph.node("Unsqueeze", {"sums", "SECOND"}, {"rows"});
  return graph.node("Mul", {"rows", "FACTOR"}, {"SUM"});
}

inline constexpr char kSegmentSumConfig[] = R"(max_batch_size: 8
  input { name: 'INPUT' data_type: TYPE_FP32 dims: -1 allow_ragged_batch: true }
  input { name: 'FACTOR' data_type: TYPE_FP32 dims: 1 }
  output { name: 'SUM' data_type: TYPE_FP32 dims: 1 }
  output { name: 'DOUBLE' data_type: TYPE_FP32 dims: -1 }
  batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO target_name: 'OFFSETS' data_type: TYPE_INT32
                source_input: 'INPUT' }
  batch_output { target_name: 'DOUBLE' source_input: 'INPUT' })";

inline Call segment_call(const std::vector<float>& values, float factor) {
  Call call;
  call.with("INPUT", DataType::kFp32, {1, static_cast<int64_t>(values.size())}, values);
  call.with<float>("FACTOR", DataType::kFp32, {1, 1}, {factor});
  call.outputs = {"SUM", "DOUBLE"};
  return call;
}

/// Gives what it is told about the batch back: the batch input T in the output TOLD. INPUT is not looked at.
/// \param dims  of T and TOLD
inline OnnxGraph telling_graph(DataType datatype, const OnnxGraph::Dims& dims) {
  OnnxGraph graph;
  graph.input("INPUT", DataType::kInt8, {kAny}).input("T", datatype, dims).output("TOLD", datatype, dims);
  return graph.node("Identity", {"T"}, {"TOLD"});
}

/// \param told  the rest of the output TOLD
inline std::string telling_config(const std::string& kind, const std::string& datatype,
                                  const std::string& told) {
  return cat(
      "max_batch_size: 8 input { name: 'INPUT' data_type: TYPE_INT8 dims: -1 allow_ragged_batch: true } ",
      "batch_input { kind: ", kind, " target_name: 'T' data_type: ", datatype, " source_input: 'INPUT' } ",
      "output { name: 'TOLD' data_type: ", datatype, " ", told, " }");
}

}  // namespace atl::ort::test
