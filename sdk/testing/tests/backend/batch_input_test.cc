#include "atoll/backend/batch_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/testing/recording_sink.h"

namespace atl::backends {
namespace {

using Kind = BatchInput::Kind;
using test::TestRequest;
using test::values_of;
using testing::ElementsAre;
using testing::HasSubstr;
using Shape = std::vector<int64_t>;

constexpr int kKinds = 6;
constexpr int64_t kTwoTo31 = int64_t{1} << 31;

/// Requests that have an input X of these shapes, without any bytes: only shapes count.
class Requests {
 public:
  explicit Requests(const std::vector<Shape>& shapes) {
    for (const Shape& shape : shapes) {
      made_.push_back(std::make_unique<TestRequest>());
      made_.back()->add_raw_input("X", DataType::kInt8, shape, "");
      pointers_.push_back(&made_.back()->request());
    }
  }
  std::span<Request* const> span() const { return pointers_; }

 private:
  std::vector<std::unique_ptr<TestRequest>> made_;
  std::vector<Request*> pointers_;
};

BatchInput entry(Kind kind, DataType datatype = DataType::kInt32, bool batching = true) {
  return {kind, datatype, "X", {"T"}, batching};
}

template <class T>
struct Made {
  Shape shape;
  std::vector<T> values;
};

template <class T>
Made<T> make(const BatchInput& input, const std::vector<Shape>& shapes, size_t padding = 0) {
  Requests requests(shapes);
  Made<T> made;
  auto size = batch_input_shape(input, requests.span(), made.shape);
  EXPECT_TRUE(size.ok()) << size.status().text();
  if (!size.ok()) return made;
  EXPECT_EQ(static_cast<int64_t>(*size), 4 * element_count(made.shape).value_or(-1));
  std::string bytes(*size + 4 * padding, '\x55');
  write_batch_input(input, requests.span(), std::as_writable_bytes(std::span(bytes)));
  made.values = values_of<T>(bytes);
  return made;
}

std::string refusal(const BatchInput& input, const std::vector<Shape>& shapes) {
  Requests requests(shapes);
  Shape shape;
  auto size = batch_input_shape(input, requests.span(), shape);
  EXPECT_EQ(size.status().code(), Code::kInvalidArgument);
  return std::string(size.status().message());
}

/// The rows of the reference, for the shapes [1,3], [2,4] and [1,5].
struct Row {
  Kind kind;
  Shape shape;
  std::vector<int32_t> values;
  std::vector<int32_t> padding;  ///< two more
};

class EveryKind : public testing::TestWithParam<Row> {};

TEST_P(EveryKind, AsInt32AndAsFp32) {
  const std::vector<Shape> shapes = {{1, 3}, {2, 4}, {1, 5}};
  const Row& row = GetParam();
  auto whole = make<int32_t>(entry(row.kind), shapes);
  EXPECT_EQ(whole.shape, row.shape);
  EXPECT_EQ(whole.values, row.values);
  auto real = make<float>(entry(row.kind, DataType::kFp32), shapes);
  EXPECT_EQ(real.shape, row.shape);
  EXPECT_EQ(real.values, std::vector<float>(row.values.begin(), row.values.end()));
  auto padded = row.values;
  padded.insert(padded.end(), row.padding.begin(), row.padding.end());
  EXPECT_EQ(make<int32_t>(entry(row.kind), shapes, 2).values, padded);
}

INSTANTIATE_TEST_SUITE_P(
    Reference, EveryKind,
    testing::Values(Row{Kind::kElementCount, {3}, {3, 8, 5}, {0, 0}},
                    Row{Kind::kAccumulatedElementCount, {3}, {3, 11, 16}, {16, 16}},
                    Row{Kind::kAccumulatedElementCountWithZero, {4}, {0, 3, 11, 16}, {16, 16}},
                    Row{Kind::kMaxElementCountAsShape, {8}, {0, 0, 0, 0, 0, 0, 0, 0}, {0, 0}},
                    Row{Kind::kItemShape, {4, 1}, {3, 4, 4, 5}, {0, 0}},
                    Row{Kind::kItemShapeFlatten, {4}, {3, 4, 4, 5}, {0, 0}}),
    [](const auto& row) { return std::string(batch_input_kind_name(row.param.kind)); });

TEST(BatchInputTest, ItemShapesHaveAColumnForEachDimension) {
  const std::vector<Shape> shapes = {{2, 1, 2}, {1, 3, 4}};
  auto rows = make<int32_t>(entry(Kind::kItemShape), shapes);
  EXPECT_THAT(rows.shape, ElementsAre(3, 2));
  EXPECT_THAT(rows.values, ElementsAre(1, 2, 1, 2, 3, 4));
  auto flat = make<int32_t>(entry(Kind::kItemShapeFlatten), shapes);
  EXPECT_THAT(flat.shape, ElementsAre(6));
  EXPECT_THAT(flat.values, ElementsAre(1, 2, 1, 2, 3, 4));
}

TEST(BatchInputTest, AModelThatDoesNotBatchHasOneItemOfTheWholeShape) {
  auto item = make<int32_t>(entry(Kind::kItemShape, DataType::kInt32, false), {{2, 3}});
  EXPECT_THAT(item.shape, ElementsAre(1, 2));
  EXPECT_THAT(item.values, ElementsAre(2, 3));
  auto count = make<int32_t>(entry(Kind::kElementCount, DataType::kInt32, false), {{2, 3}});
  EXPECT_THAT(count.values, ElementsAre(6));
}

TEST(BatchInputTest, EmptyTensorsAndItemsWithoutDimensionsCount) {
  auto sums = make<int32_t>(entry(Kind::kAccumulatedElementCount), {{1, 0}, {1, 2}, {1, 0}});
  EXPECT_THAT(sums.values, ElementsAre(0, 2, 2));
  EXPECT_THAT(make<int32_t>(entry(Kind::kMaxElementCountAsShape), {{1, 0}}).shape, ElementsAre(0));
  auto none = make<int32_t>(entry(Kind::kItemShape), {{2}, {1}});
  EXPECT_THAT(none.shape, ElementsAre(3, 0));
  EXPECT_THAT(none.values, ElementsAre());
  EXPECT_THAT(make<int32_t>(entry(Kind::kElementCount), {{2}, {1}}).values, ElementsAre(2, 1));
}

TEST(BatchInputTest, WritesNoMoreThanThereIsRoomFor) {
  Requests requests({{1, 3}, {1, 4}});
  std::string bytes(7, '\x55');
  for (int kind = 0; kind < kKinds; ++kind) {
    write_batch_input(entry(static_cast<Kind>(kind)), requests.span(),
                      std::as_writable_bytes(std::span(bytes)).first(4));
    EXPECT_EQ(bytes.substr(4), "\x55\x55\x55");
  }
}

TEST(BatchInputTest, ValuesUpToTheLargestInt32) {
  for (int kind = 0; kind < kKinds; ++kind) {
    BatchInput input = entry(static_cast<Kind>(kind));
    Requests largest({{1, kTwoTo31 - 1}});
    Shape shape;
    EXPECT_TRUE(batch_input_shape(input, largest.span(), shape).ok()) << kind;
  }
  auto sums = make<int32_t>(entry(Kind::kAccumulatedElementCount), {{1, kTwoTo31 - 2}, {1, 1}});
  EXPECT_THAT(sums.values, ElementsAre(2147483646, 2147483647));
}

TEST(BatchInputTest, AValueBeyondInt32IsRefusedNotWrapped) {
  EXPECT_EQ(refusal(entry(Kind::kAccumulatedElementCount), {{1, kTwoTo31 - 1}, {1, 1}}),
            "batch input 'T' (BATCH_ACCUMULATED_ELEMENT_COUNT of 'X'): found 2147483648, expected at most "
            "2147483647, the largest INT32");
  for (auto kind : {Kind::kElementCount, Kind::kAccumulatedElementCount,
                    Kind::kAccumulatedElementCountWithZero, Kind::kItemShape, Kind::kItemShapeFlatten}) {
    EXPECT_THAT(refusal(entry(kind), {{1, kTwoTo31}}), HasSubstr("the largest INT32"));
  }
}

TEST(BatchInputTest, AnElementCountNeedsToFitByItself) {
  auto counts = make<int32_t>(entry(Kind::kElementCount), {{1, kTwoTo31 - 1}, {1, kTwoTo31 - 1}});
  EXPECT_THAT(counts.values, ElementsAre(2147483647, 2147483647));
}

TEST(BatchInputTest, AValueThatFp32WouldRoundIsRefused) {
  auto sums = entry(Kind::kAccumulatedElementCount, DataType::kFp32);
  EXPECT_THAT(make<float>(sums, {{1, 16777215}, {1, 1}, {1, 2}}).values,
              ElementsAre(16777215.0f, 16777216.0f, 16777218.0f));
  EXPECT_EQ(refusal(sums, {{1, 16777216}, {1, 1}}),
            "batch input 'T' (BATCH_ACCUMULATED_ELEMENT_COUNT of 'X'): found 16777217, expected a number "
            "that FP32 holds exactly");
  EXPECT_THAT(refusal(sums, {{1, INT64_MAX}}), HasSubstr("found 9223372036854775807, expected a number"));
}

TEST(BatchInputTest, TotalsBeyond63BitsAreRefused) {
  const int64_t half = int64_t{1} << 62;
  for (int kind = 0; kind < kKinds; ++kind) {
    for (DataType type : {DataType::kInt32, DataType::kFp32}) {
      BatchInput input = entry(static_cast<Kind>(kind), type);
      EXPECT_NE(refusal(input, {{1, half}, {1, half}}), "") << kind;
      EXPECT_NE(refusal(input, {{4, half}}), "") << kind;
    }
  }
  EXPECT_THAT(refusal(entry(Kind::kMaxElementCountAsShape), {{1, half}}),
              HasSubstr("found shape [4611686018427387904], expected less than 2^63 bytes"));
  EXPECT_THAT(refusal(entry(Kind::kItemShape), {{half, 0}, {half, 0}}),
              HasSubstr("found shape [4611686018427387904,0], expected dimensions of 0 or more and a total"));
  EXPECT_THAT(refusal(entry(Kind::kItemShapeFlatten), {{half, 0, 0, 0}}),
              HasSubstr("expected less than 2^63 bytes"));
}

TEST(BatchInputTest, RequestsThatDoNotFitTogetherAreRefused) {
  auto input = entry(Kind::kItemShape);
  EXPECT_EQ(refusal(input, {{1, 2}, {1, 2, 3}}),
            "batch input 'T' (BATCH_ITEM_SHAPE of 'X'): found 3 dimensions, expected 2 as in the batch's "
            "first request");
  EXPECT_THAT(refusal(input, {{}}), HasSubstr("found 0 dimensions, expected 1"));
  EXPECT_THAT(refusal(input, {{1, -1}}), HasSubstr("found shape [1,-1], expected dimensions of 0 or more"));
  input.source = "Y";
  EXPECT_EQ(refusal(input, {{1, 2}}),
            "batch input 'T' (BATCH_ITEM_SHAPE of 'Y'): found no such input in the request, expected one");
}

TEST(BatchInputTest, EntriesOfAConfiguration) {
  ModelDescription model;
  model.max_batch_size = 2;
  model.batch_inputs = {{Kind::kItemShape, DataType::kFp32, {"S", "T"}, {"X"}},
                        {Kind::kElementCount, DataType::kInt32, {"N"}, {}}};
  auto inputs = batch_inputs_of(model);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].kind, Kind::kItemShape);
  EXPECT_EQ(inputs[0].datatype, DataType::kFp32);
  EXPECT_EQ(inputs[0].source, "X");
  EXPECT_THAT(inputs[0].targets, ElementsAre("S", "T"));
  EXPECT_TRUE(inputs[0].batching);
  EXPECT_EQ(inputs[1].source, "");
  model.max_batch_size = 0;
  EXPECT_FALSE(batch_inputs_of(model)[0].batching);
}

}  // namespace
}  // namespace atl::backends
