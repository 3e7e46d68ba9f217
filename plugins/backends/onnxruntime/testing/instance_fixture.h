/// Models that the tests of executions share.
#pragma once

#include <string>
#include <vector>

#include "testing/backend_fixture.h"

namespace atl::ort::test {

inline std::string identity_config(DataType type, const std::string& dims, int max_batch_size) {
  std::string name = type == DataType::kBytes ? "STRING" : std::string(data_type_name(type));
  std::string tensor = cat("data_type: TYPE_", name, " dims: [", dims, "] }");
  return cat("max_batch_size: ", max_batch_size, " input { name: 'INPUT0' ", tensor,
             " output { name: 'OUTPUT0' ", tensor);
}

class OnnxInstanceTest : public BackendFixture {
 protected:
  void serve_identity(DataType type, const OnnxGraph::Dims& model_dims, const std::string& dims,
                      int max_batch_size) {
    serve(identity_graph(type, model_dims), identity_config(type, dims, max_batch_size));
  }
};

inline OnnxGraph add_sub_graph() {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kFp32, {kBatch, 2}).input("INPUT1", DataType::kFp32, {kBatch, 2});
  graph.output("OUTPUT0", DataType::kFp32, {kBatch, 2}).output("OUTPUT1", DataType::kFp32, {kBatch, 2});
  return graph.node("Add", {"INPUT0", "INPUT1"}, {"OUTPUT0"}).node("Sub", {"INPUT0", "INPUT1"}, {"OUTPUT1"});
}

inline constexpr char kAddSubConfig[] = R"(max_batch_size: 8
  input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 } input { name: 'INPUT1' data_type: TYPE_FP32 dims: 2 }
  output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 } output { name: 'OUTPUT1' data_type: TYPE_FP32 dims: 2 })";

inline void add_pair(TestRequest& request, const std::vector<float>& a, const std::vector<float>& b) {
  auto rows = static_cast<int64_t>(a.size() / 2);
  request.add_input("INPUT0", DataType::kFp32, {rows, 2}, a);
  request.add_input("INPUT1", DataType::kFp32, {rows, 2}, b);
  request->batch_size = static_cast<uint32_t>(rows);
}

}  // namespace atl::ort::test
