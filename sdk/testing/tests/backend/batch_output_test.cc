#include "atoll/backend/batch_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/testing/recording_sink.h"

namespace atl::backends {
namespace {

using test::TestRequest;
using testing::ElementsAre;
using Shape = std::vector<int64_t>;

TensorSpec tensor(std::string name, Shape dims, Shape reshape = {}) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.dims = std::move(dims);
  spec.has_reshape = !reshape.empty();
  spec.reshape = std::move(reshape);
  return spec;
}

ModelDescription model_of(uint32_t max_batch_size, TensorSpec input, std::vector<TensorSpec> outputs) {
  ModelDescription model;
  model.max_batch_size = max_batch_size;
  model.inputs = {std::move(input)};
  model.outputs = std::move(outputs);
  BatchOutputSpec& entry = model.batch_outputs.emplace_back();
  for (const TensorSpec& output : model.outputs) entry.targets.push_back(output.name);
  entry.sources = {"X"};
  return model;
}

TEST(BatchOutputTest, DimensionsAreThoseTheBackendSees) {
  auto outputs = batch_outputs_of(
      model_of(4, tensor("X", {-1, 3}), {tensor("A", {-1, 3}), tensor("B", {6, -1}, {-1, 2, 3})}));
  ASSERT_TRUE(outputs.ok()) << outputs.status().text();
  ASSERT_EQ(outputs->size(), 2u);
  EXPECT_EQ((*outputs)[1].target, "B");
  EXPECT_EQ((*outputs)[1].source, "X");
  EXPECT_THAT((*outputs)[0].dims, ElementsAre(-1, -1, 3));
  EXPECT_THAT((*outputs)[1].dims, ElementsAre(-1, -1, 2, 3));
}

TEST(BatchOutputTest, AVariableDimensionNeedsOneInTheSource) {
  auto outputs = batch_outputs_of(model_of(4, tensor("X", {-1}), {tensor("A", {2, -1})}));
  EXPECT_EQ(outputs.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(outputs.status().message(),
            "batch output 'A': found shape [-1,2,-1], expected -1 only where its source input 'X' with shape "
            "[-1,-1] has a dimension");
  EXPECT_TRUE(batch_outputs_of(model_of(0, tensor("X", {-1}), {tensor("A", {-1, 2})})).ok());
}

TEST(BatchOutputTest, VariableDimensionsComeFromTheSamePlaceOfTheSource) {
  BatchOutput output{"A", "X", {-1, 3, -1}};
  TestRequest request;
  request.add_raw_input("X", DataType::kInt8, {2, 5, 7}, "");
  Shape shape = {9, 9, 9, 9};
  auto count = batch_output_shape(output, *request, shape);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 42u);
  EXPECT_THAT(shape, ElementsAre(2, 3, 7));
}

TEST(BatchOutputTest, EmptyPartsAreParts) {
  TestRequest request;
  request.add_raw_input("X", DataType::kInt8, {1, 0}, "");
  Shape shape;
  EXPECT_EQ(batch_output_shape({"A", "X", {-1, -1}}, *request, shape).value(), 0u);
  EXPECT_THAT(shape, ElementsAre(1, 0));
}

TEST(BatchOutputTest, WhatCanNotBeCutIsRefused) {
  TestRequest request;
  request.add_raw_input("X", DataType::kInt8, {1, int64_t{1} << 62}, "");
  Shape shape;
  EXPECT_EQ(batch_output_shape({"A", "Y", {-1}}, *request, shape).status().message(),
            "batch output 'A': found no input 'Y' in the request, expected one whose shape says how to cut");
  EXPECT_EQ(batch_output_shape({"A", "X", {-1, 1, -1}}, *request, shape).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(batch_output_shape({"A", "X", {2, -1}}, *request, shape).status().message(),
            "batch output 'A': found shape [2,4611686018427387904] for the shape [1,4611686018427387904] of "
            "input 'X', expected dimensions of 0 or more whose product fits into 63 bits");
}

}  // namespace
}  // namespace atl::backends
