/// Models that the tests of executions share.
#pragma once

#include <string>
#include <vector>

#include "backends/onnxruntime/testing/backend_fixture.h"

namespace atl::ort::test {

inline std::string identity_config(DataType type, const std::string& dims, int max_batch_size) {
  std::string name = type == DataType::kBytes ? "STRING" : std::string(data_type_name(type));
  std::string tensor = cat("data_type: TYPE_", name, " dims: [", dims, "] }");
  return cat("max_batch_size: ", max_batch_size, " input { name: 'INPUT0' ", tensor,
             " output { name: 'OUTPUT0' ", tensor);
}

/// A request as data, so that it can be sent more than once.
struct Call {
  struct Input {
    std::string name;
    DataType datatype;
    std::vector<int64_t> shape;
    std::string bytes;
  };
  std::vector<Input> inputs;
  std::vector<std::string> outputs;
  uint32_t batch_size = 1;

  template <class T>
  Call& with(std::string name, DataType datatype, std::vector<int64_t> shape, const std::vector<T>& values) {
    inputs.push_back({std::move(name), datatype, std::move(shape), atl::test::bytes_of(values)});
    return *this;
  }
  /// \param cut  bytes after which the buffer of each input is cut, where it has as many
  void fill(TestRequest& request, size_t cut = 0) const {
    for (const Input& input : inputs) {
      std::vector<size_t> cuts;
      if (cut != 0 && cut < input.bytes.size()) cuts.push_back(cut);
      request.add_raw_input(input.name, input.datatype, input.shape, input.bytes, cuts);
    }
    for (const std::string& output : outputs) request.add_output(output);
    request->batch_size = batch_size;
  }
};

class OnnxInstanceTest : public BackendFixture {
 protected:
  using Answers = std::vector<atl::test::ReceivedResponse>;

  /// Executes the calls as one batch. \param cut  of every other call
  Answers together(const std::vector<Call>& calls, size_t cut = 0) {
    std::vector<std::unique_ptr<TestRequest>> requests;
    std::vector<TestRequest*> pointers;
    for (const Call& call : calls) {
      requests.push_back(std::make_unique<TestRequest>());
      call.fill(*requests.back(), requests.size() % 2 == 0 ? cut : 0);
      pointers.push_back(requests.back().get());
    }
    execute(pointers);
    Answers answers;
    for (const auto& request : requests) answers.push_back(request->response());
    return answers;
  }
  /// Each call must get the same answer whether it runs alone or with the others.
  void expect_the_same_together(const std::vector<Call>& calls, size_t cut = 0) {
    Answers joined = together(calls, cut);
    ASSERT_EQ(joined.size(), calls.size());
    for (size_t i = 0; i < calls.size(); ++i) {
      Answers alone = together({calls[i]});
      ASSERT_EQ(alone.size(), 1u);
      EXPECT_EQ(joined[i].code, alone[0].code) << joined[i].message << " / " << alone[0].message;
      EXPECT_EQ(joined[i].message, alone[0].message);
      ASSERT_EQ(joined[i].outputs.size(), alone[0].outputs.size());
      for (size_t k = 0; k < alone[0].outputs.size(); ++k) {
        const auto &found = joined[i].outputs[k], &expected = alone[0].outputs[k];
        EXPECT_EQ(found.name, expected.name);
        EXPECT_EQ(found.datatype, expected.datatype);
        EXPECT_EQ(found.shape, expected.shape) << found.name;
        EXPECT_EQ(found.bytes, expected.bytes) << found.name << " of call " << i;
      }
    }
  }
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
