#include "backends/python/calls/unknown_outputs.h"

#include <gtest/gtest.h>

#include <vector>

#include "atoll/testing/fake_log.h"

namespace atl::python {
namespace {

class OutputCheckTest : public ::testing::Test {
 protected:
  struct Given {
    std::string name;
    DataType datatype = DataType::kFp32;
    std::vector<int64_t> shape = {2};
  };
  static ModelSource source(uint32_t max_batch_size) {
    ModelSource source;
    source.name = "m";
    source.version = 3;
    source.model.max_batch_size = max_batch_size;
    TensorSpec one;
    one.name = "ONE";
    one.datatype = DataType::kFp32;
    one.dims = {2};
    TensorSpec any = one;
    any.name = "ANY";
    any.dims = {-1, 4};
    any.has_reshape = true;
    any.reshape = {-1};
    source.model.outputs = {one, any};
    return source;
  }
  /// A response with these outputs, of a worker that has said these names. \returns what is logged
  std::vector<std::string> look(UnknownOutputs& check, const std::vector<Given>& outputs,
                                const std::vector<std::string>& names) {
    Response response;
    for (const Given& given : outputs) response.add_output(given.name, given.datatype, given.shape);
    std::vector<std::byte> bytes(4096);
    PayloadWriter writer(bytes.data());
    ResponseRecord record;
    record.tensor_count = static_cast<uint32_t>(names.size());
    record.tensors = writer.reserve<TensorRecord>(names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      TensorRecord tensor;
      tensor.name = writer.add_text(names[i]);
      writer.put(record.tensors + i * sizeof tensor, tensor);
    }
    const size_t before = log_.records().size();
    check.look(response, record, PayloadView(bytes.data(), bytes.size()));
    std::vector<std::string> said;
    for (size_t i = before; i < log_.records().size(); ++i) said.push_back(log_.records()[i].message);
    return said;
  }
  test::RecordingLog log_;
};

TEST_F(OutputCheckTest, WhatIsAsConfiguredIsNotTold) {
  UnknownOutputs plain(source(0), log_), batched(source(8), log_);
  EXPECT_TRUE(look(plain, {{"ANY", DataType::kFp32, {7}}, {"ONE"}}, {"ANY", "ONE"}).empty());
  EXPECT_TRUE(
      look(batched, {{"ONE", DataType::kFp32, {5, 2}}, {"ANY", DataType::kFp32, {5, 0}}}, {"ONE", "ANY"})
          .empty());
  EXPECT_TRUE(look(plain, {}, {}).empty());
  EXPECT_TRUE(look(plain, {{"ONE"}}, {"ONE", "ANY"}).empty());  // not asked for
}

TEST_F(OutputCheckTest, NamesThatNobodyKnowsAreToldOnce) {
  UnknownOutputs check(source(0), log_);
  const std::vector<std::string> told = {
      "model 'm' version 3: execute() returns an output 'TWO', which its "
      "configuration does not have; nobody gets it. This is said once"};
  EXPECT_EQ(look(check, {{"ONE"}}, {"TWO", "ONE"}), told);
  EXPECT_TRUE(look(check, {{"ONE"}}, {"ONE", "TWO"}).empty());
  size_t names = 0;
  for (int i = 0; i < 100; ++i) names += look(check, {}, {cat("made up ", i)}).size();
  EXPECT_EQ(names, 15u);
}

TEST_F(OutputCheckTest, RecordsOutsideOfTheirMemoryAreNotRead) {
  UnknownOutputs check(source(0), log_);
  Response response;
  ResponseRecord record;
  record.tensor_count = 5;
  record.tensors = 4000;
  const std::vector<std::byte> bytes(64);
  check.look(response, record, PayloadView(bytes.data(), bytes.size()));
  EXPECT_TRUE(log_.records().empty());
}

}  // namespace
}  // namespace atl::python
