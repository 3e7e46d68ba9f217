#include "common/batch_output.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "atoll/testing/recording_sink.h"

namespace atl::backends {
namespace {

using test::TestRequest;
using testing::ElementsAre;
using Shape = std::vector<int64_t>;

Result<std::vector<BatchOutput>> outputs_of(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return batch_outputs_of(config);
}

TEST(BatchOutputTest, DimensionsAreThoseTheBackendSees) {
  auto outputs = outputs_of(R"(max_batch_size: 4 input { name: "X" dims: [ -1, 3 ] }
    output { name: "A" dims: [ -1, 3 ] } output { name: "B" dims: [ 6, -1 ] reshape { shape: [ -1, 2, 3 ] } }
    batch_output { target_name: [ "A", "B" ] source_input: "X" })");
  ASSERT_TRUE(outputs.ok()) << outputs.status().text();
  ASSERT_EQ(outputs->size(), 2u);
  EXPECT_EQ((*outputs)[1].target, "B");
  EXPECT_EQ((*outputs)[1].source, "X");
  EXPECT_THAT((*outputs)[0].dims, ElementsAre(-1, -1, 3));
  EXPECT_THAT((*outputs)[1].dims, ElementsAre(-1, -1, 2, 3));
}

TEST(BatchOutputTest, AVariableDimensionNeedsOneInTheSource) {
  auto outputs = outputs_of(R"(max_batch_size: 4 input { name: "X" dims: [ -1 ] }
    output { name: "A" dims: [ 2, -1 ] } batch_output { target_name: "A" source_input: "X" })");
  EXPECT_EQ(outputs.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(outputs.status().message(),
            "batch output 'A': found shape [-1,2,-1], expected -1 only where its source input 'X' with shape "
            "[-1,-1] has a dimension");
  EXPECT_TRUE(outputs_of(R"(input { name: "X" dims: [ -1 ] } output { name: "A" dims: [ -1, 2 ] }
    batch_output { target_name: "A" source_input: "X" })")
                  .ok());
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
