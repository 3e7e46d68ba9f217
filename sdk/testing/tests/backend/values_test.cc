#include "atoll/backend/values.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "atoll/testing/recording_sink.h"

namespace atl::backends {
namespace {

Buffer buffer(std::string& bytes, MemoryKind kind = MemoryKind::kCpu) {
  return {.data = bytes.data(), .size_bytes = bytes.size(), .kind = kind, .device_id = 0};
}
const Buffer kNothing{};

TEST(Gather, JoinsInOrder) {
  std::string a = "one", b = "two", c = "three", to(20, '.');
  std::vector<Buffer> from{buffer(a), kNothing, buffer(b, MemoryKind::kCpuPinned), buffer(c)};
  auto copied = gather(from, buffer(to), "input 'x'");
  ASSERT_TRUE(copied.ok());
  EXPECT_EQ(copied.value(), 11u);
  EXPECT_EQ(to, "onetwothree.........");
}

TEST(Gather, NothingIntoNothing) {
  EXPECT_EQ(gather({}, kNothing, "x").value(), 0u);
  EXPECT_EQ(gather({&kNothing, 1}, kNothing, "x").value(), 0u);
}

TEST(Gather, ADestinationThatIsTooSmallIsNotTouched) {
  std::string a = "one", b = "two", to(5, '.');
  std::vector<Buffer> from{buffer(a), buffer(b)};
  auto copied = gather(from, buffer(to), "input 'x'");
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.status().code(), Code::kInternal);
  EXPECT_EQ(copied.status().message(), "input 'x' has 6 bytes, its destination only 5");
  EXPECT_EQ(to, ".....");
}

TEST(Gather, SizesThatOverflowAreRefused) {
  std::string to(5, '.');
  std::vector<Buffer> from(2);
  from[0].size_bytes = from[1].size_bytes = uint64_t{1} << 63;
  EXPECT_EQ(gather(from, buffer(to), "x").status().code(), Code::kInternal);
}

TEST(Gather, GpuMemoryIsRefusedOnBothSides) {
  std::string a = "one", to(5, '.');
  std::vector<Buffer> gpu{buffer(a, MemoryKind::kGpu)}, cpu{buffer(a)};
  for (const auto& copied : {gather(gpu, buffer(to), "input 'x'").status().code(),
                             gather(cpu, buffer(to, MemoryKind::kGpu), "input 'x'").status().code()}) {
    EXPECT_EQ(copied, Code::kInvalidArgument);
  }
  EXPECT_EQ(to, ".....");
}

TEST(Contiguous, OneAlignedBufferIsUsedAsItIs) {
  alignas(64) char bytes[16] = "0123456789";
  Buffer one{.data = bytes, .size_bytes = 10, .kind = MemoryKind::kCpu, .device_id = 0};
  InputTensor input;
  input.buffers = {&one, 1};
  Arena arena;
  auto whole = contiguous(input, arena, 64);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(static_cast<const void*>(whole->data()), bytes);
  EXPECT_EQ(whole->size(), 10u);
}

TEST(Contiguous, PiecesAndMisalignedBuffersAreCopied) {
  alignas(64) char bytes[17] = "0123456789abcdef";
  for (size_t pieces : {1, 2, 5}) {
    std::vector<Buffer> buffers(pieces);
    for (size_t i = 0; i < pieces; ++i) {
      size_t from = 1 + 15 * i / pieces, to = 1 + 15 * (i + 1) / pieces;
      buffers[i].data = bytes + from;
      buffers[i].size_bytes = to - from;
    }
    InputTensor input;
    input.buffers = buffers;
    Arena arena;
    auto whole = contiguous(input, arena, 8);
    ASSERT_TRUE(whole.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(whole->data()) % 8, 0u);
    ASSERT_EQ(whole->size(), 15u);
    EXPECT_EQ(std::memcmp(whole->data(), bytes + 1, 15), 0);
  }
}

TEST(Contiguous, GpuMemoryIsRefused) {
  Buffer one{.data = nullptr, .size_bytes = 4, .kind = MemoryKind::kGpu, .device_id = 2};
  InputTensor input;
  input.name = "x";
  input.buffers = {&one, 1};
  Arena arena;
  auto whole = contiguous(input, arena, 8);
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.status().code(), Code::kInvalidArgument);
  EXPECT_NE(whole.status().message().find("GPU 2"), std::string::npos);
}

TEST(DataTypeOf, IsTheTypeOfItsSize) {
  EXPECT_EQ(data_type_of<bool>(), DataType::kBool);
  EXPECT_EQ(data_type_of<float>(), DataType::kFp32);
  EXPECT_EQ(data_type_of<double>(), DataType::kFp64);
  EXPECT_EQ(data_type_of<int8_t>(), DataType::kInt8);
  EXPECT_EQ(data_type_of<uint8_t>(), DataType::kUint8);
  EXPECT_EQ(data_type_of<int16_t>(), DataType::kInt16);
  EXPECT_EQ(data_type_of<uint16_t>(), DataType::kUint16);
  EXPECT_EQ(data_type_of<int32_t>(), DataType::kInt32);
  EXPECT_EQ(data_type_of<uint32_t>(), DataType::kUint32);
  EXPECT_EQ(data_type_of<long long>(), DataType::kInt64);
  EXPECT_EQ(data_type_of<uint64_t>(), DataType::kUint64);
}

TEST(InputValues, AreTheElementsWhereverTheyAre) {
  test::TestRequest request("r");
  const std::vector<int32_t> sent = {1, -2, 3, 4, 5, 6};
  request.add_raw_input("X", DataType::kInt32, {2, 3}, test::bytes_of(sent), {3, 9}, 1);
  Result<std::span<const int32_t>> values = input_values<int32_t>(*request, "X");
  ASSERT_TRUE(values.ok()) << values.status().text();
  EXPECT_EQ(std::vector(values->begin(), values->end()), sent);
  request.add_raw_input("EMPTY", DataType::kInt32, {0, 3}, "");
  EXPECT_TRUE(input_values<int32_t>(*request, "EMPTY")->empty());
}

TEST(InputValues, RefusesWhatIsNotThere) {
  test::TestRequest request("r");
  request.add_raw_input("X", DataType::kInt32, {2}, "12345678");
  request.add_raw_input("SHORT", DataType::kInt32, {3}, "12345678");
  request.add_raw_input("ODD", DataType::kInt32, {2}, "1234567");
  request.add_raw_input("WRONG", DataType::kInt32, {-1}, "1234");
  EXPECT_EQ(input_values<int32_t>(*request, "Y").status().text(), "input 'Y' is missing");
  EXPECT_EQ(input_values<float>(*request, "X").status().text(), "input 'X' has type INT32, expected FP32");
  for (const char* name : {"SHORT", "ODD", "WRONG"}) {
    Status status = input_values<int32_t>(*request, name).status().clone();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << name;
    EXPECT_NE(status.text().find("which are not those of shape"), std::string::npos) << status.text();
  }
}

}  // namespace
}  // namespace atl::backends
