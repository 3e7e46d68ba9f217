#include "backends/common/input_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "atoll/testing/recording_sink.h"
#include "atoll/testing/tensor_bytes.h"

namespace atl::backends {
namespace {

using testing::HasSubstr;

Status check(const InputRule& rule, test::TestRequest& request, bool batches = true,
             bool check_elements = true, bool anywhere = false) {
  return check_input(rule, request->inputs[0], *request, batches, check_elements, anywhere);
}

TEST(InputRules, SayWhatIsWrong) {
  const InputRule rule{.name = "x", .datatype = DataType::kFp32};
  const auto fill = [](test::TestRequest& request, DataType type, std::vector<int64_t> shape,
                       const std::string& bytes) {
    request.add_raw_input("x", type, std::move(shape), bytes);
    request->batch_size = 1;
  };
  test::TestRequest good, type, negative, batch, bytes;
  fill(good, DataType::kFp32, {1, 2}, "12345678");
  fill(type, DataType::kInt32, {1, 2}, "12345678");
  fill(negative, DataType::kFp32, {1, -2}, "12345678");
  fill(batch, DataType::kFp32, {2, 1}, "12345678");
  fill(bytes, DataType::kFp32, {1, 3}, "12345678");
  EXPECT_TRUE(check(rule, good).ok());
  EXPECT_THAT(check(rule, type).text(), HasSubstr("found datatype INT32, expected FP32"));
  EXPECT_THAT(check(rule, negative).text(), HasSubstr("expected dimensions of 0 or more"));
  EXPECT_THAT(check(rule, batch).text(), HasSubstr("expected the batch size 1 as first dimension"));
  EXPECT_TRUE(check(rule, batch, /*batches=*/false).ok());
  EXPECT_THAT(check(rule, bytes).text(), HasSubstr("found 8 bytes, expected 12 for shape [1,3]"));
}

TEST(InputRules, AScalarIsOneElement) {
  const InputRule rule{.name = "x", .datatype = DataType::kFp32, .scalar = true};
  test::TestRequest one, two;
  one.add_input<float>("x", DataType::kFp32, {1}, {1});
  two.add_input<float>("x", DataType::kFp32, {2}, {1, 2});
  EXPECT_TRUE(check(rule, one, false).ok());
  EXPECT_THAT(check(rule, two, false).text(), HasSubstr("expected one element"));
}

TEST(InputRules, ElementsOfBytes) {
  const InputRule rule{.name = "x", .datatype = DataType::kBytes};
  test::TestRequest short_one, cut;
  short_one.add_raw_input("x", DataType::kBytes, {2}, "1234567");
  cut.add_raw_input("x", DataType::kBytes, {2}, std::string("\xff\0\0\0\0\0\0\0", 8));
  EXPECT_THAT(check(rule, short_one, false).text(), HasSubstr("expected at least 4 for each of 2 elements"));
  EXPECT_TRUE(check(rule, cut, false, /*check_elements=*/false).ok()) << "left to who converts them";
  EXPECT_FALSE(check(rule, cut, false).ok());
}

TEST(InputRules, MemoryOfGpusIsForWhoCanReachIt) {
  const InputRule rule{.name = "x", .datatype = DataType::kFp32};
  test::TestRequest request;
  request.add_input<float>("x", DataType::kFp32, {1}, {1});
  Buffer there = request->inputs[0].buffers[0];
  there.kind = MemoryKind::kGpu;
  request->inputs[0].buffers = {&there, 1};
  EXPECT_THAT(check(rule, request, false).text(), HasSubstr("found GPU memory, expected CPU memory"));
  EXPECT_TRUE(check(rule, request, false, true, /*anywhere=*/true).ok());
}

TEST(InputRules, WhatCanBeJoined) {
  const InputRule rule{.name = "x", .datatype = DataType::kFp32};
  const InputRule ragged{.name = "x", .datatype = DataType::kFp32, .ragged = true};
  test::TestRequest a, b, longer, without;
  a.add_input<float>("x", DataType::kFp32, {1, 2}, {1, 2});
  b.add_input<float>("x", DataType::kFp32, {2, 2}, {1, 2, 3, 4});
  longer.add_input<float>("x", DataType::kFp32, {1, 3}, {1, 2, 3});
  EXPECT_TRUE(can_be_joined(rule, *a, *b));
  EXPECT_FALSE(can_be_joined(rule, *a, *longer));
  EXPECT_TRUE(can_be_joined(ragged, *a, *longer));
  EXPECT_FALSE(can_be_joined(rule, *a, *without));
  EXPECT_TRUE(can_be_joined(rule, *without, *without));
}

}  // namespace
}  // namespace atl::backends
