#include "frontends/common/codec/classification.h"

#include <gtest/gtest.h>

#include <limits>

#include "atoll/testing/tensor_bytes.h"

namespace atl::frontends {
namespace {

using Texts = std::vector<std::string>;

class ClassificationTest : public ::testing::Test {
 protected:
  template <class T>
  OutputTensor& output(DataType type, std::vector<int64_t> shape, std::vector<T> values) {
    bytes_ = test::bytes_of(values);
    OutputTensor& added = response_.add_output("O", type, shape);
    added.buffer.data = bytes_.data();
    added.buffer.size_bytes = bytes_.size();
    return added;
  }
  Texts classified(OutputTensor& tensor, uint32_t count) {
    Status status = classify(info_, response_, tensor, count);
    EXPECT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(tensor.datatype, DataType::kBytes);
    return test::decode_bytes_tensor(
        {static_cast<const char*>(tensor.buffer.data), tensor.buffer.size_bytes});
  }
  static std::vector<int64_t> shape(const OutputTensor& tensor) {
    return {tensor.shape.begin(), tensor.shape.end()};
  }

  ModelInfo info_;
  Response response_;
  std::string bytes_;
};

TEST_F(ClassificationTest, SortsFloatsDescendingWithSixDecimalsAndLabels) {
  info_.outputs.emplace_back();
  info_.outputs[0].name = "O";
  info_.outputs[0].labels = {"cat", "", "fish"};
  OutputTensor& tensor = output<float>(DataType::kFp32, {4}, {1.5f, 2, 3, -1});
  EXPECT_EQ(classified(tensor, 3), (Texts{"3.000000:2:fish", "2.000000:1", "1.500000:0:cat"}));
  EXPECT_EQ(shape(tensor), (std::vector<int64_t>{3}));
}

TEST_F(ClassificationTest, ClassifiesEachBatchItem) {
  info_.max_batch_size = 8;
  OutputTensor& tensor = output<int32_t>(DataType::kInt32, {2, 3}, {1, 2, 3, 30, 20, 10});
  EXPECT_EQ(classified(tensor, 2), (Texts{"3:2", "2:1", "30:0", "20:1"}));
  EXPECT_EQ(shape(tensor), (std::vector<int64_t>{2, 2}));
}

TEST_F(ClassificationTest, AsksForNoMoreThanThereIs) {
  OutputTensor& tensor = output<uint64_t>(DataType::kUint64, {2}, {UINT64_MAX, 5});
  EXPECT_EQ(classified(tensor, UINT32_MAX), (Texts{"18446744073709551615:0", "5:1"}));
  EXPECT_EQ(shape(tensor), (std::vector<int64_t>{2}));
}

TEST_F(ClassificationTest, EqualValuesKeepTheirOrderAndNanComesLast) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  OutputTensor& tensor = output<double>(DataType::kFp64, {5}, {nan, 1, nan, 1, -2});
  EXPECT_EQ(classified(tensor, 4), (Texts{"1.000000:1", "1.000000:3", "-2.000000:4", "nan:0"}));
}

TEST_F(ClassificationTest, SmallIntegersPrintAsNumbers) {
  OutputTensor& tensor = output<int8_t>(DataType::kInt8, {3}, {-5, 65, 0});
  EXPECT_EQ(classified(tensor, 1), (Texts{"65:1"}));
}

TEST_F(ClassificationTest, EmptyTensorsGiveEmptyLists) {
  info_.max_batch_size = 4;
  OutputTensor& tensor = output<float>(DataType::kFp32, {0, 3}, {});
  EXPECT_EQ(classified(tensor, 2), Texts{});
  EXPECT_EQ(shape(tensor), (std::vector<int64_t>{0, 0}));
}

TEST_F(ClassificationTest, RefusesTypesWithoutOrder) {
  for (DataType type : {DataType::kBytes, DataType::kBool, DataType::kFp16, DataType::kBf16}) {
    OutputTensor& tensor = output<uint16_t>(type, {1}, {0});
    Status status = classify(info_, response_, tensor, 1);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), "class result not available for output due to unsupported type '" +
                                    std::string(data_type_name(type)) + "'");
  }
}

TEST_F(ClassificationTest, RefusesMoreThanAMillionElements) {
  OutputTensor& at = output<uint8_t>(DataType::kUint8, {1'000'000}, std::vector<uint8_t>(1'000'000));
  EXPECT_TRUE(classify(info_, response_, at, 1).ok());
  OutputTensor& over = output<uint8_t>(DataType::kUint8, {1'000'001}, std::vector<uint8_t>(1'000'001));
  Status status = classify(info_, response_, over, 1);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "classification output tensor too large");
}

TEST_F(ClassificationTest, RefusesABufferShorterThanTheShape) {
  OutputTensor& tensor = output<float>(DataType::kFp32, {100}, {1});
  EXPECT_EQ(classify(info_, response_, tensor, 1).code(), Code::kInternal);
}

}  // namespace
}  // namespace atl::frontends
