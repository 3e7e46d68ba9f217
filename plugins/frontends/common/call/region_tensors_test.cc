// Inputs and outputs in shared memory: what a message says, where the bytes are then, and what holds them.
#include "frontends/common/call/region_tensors.h"

#include <gtest/gtest.h>

#include "atoll/testing/fake_shared_memory.h"
#include "atoll/testing/gpu/fake_device_memory.h"
#include "atoll/testing/tensor_bytes.h"
#include "frontends/common/codec/v2_infer_response.h"
#include "frontends/common/testing/codec_test_support.h"
#include "grpc_service.pb.h"

namespace atl::frontends {
namespace {

using inference::ModelInferRequest;

template <class Tensor>
void place(Tensor* tensor, const std::string& region, int64_t byte_size, int64_t offset = 0) {
  auto& parameters = *tensor->mutable_parameters();
  parameters["shared_memory_region"].set_string_param(region);
  parameters["shared_memory_byte_size"].set_int64_param(byte_size);
  if (offset != 0) parameters["shared_memory_offset"].set_int64_param(offset);
}

/// One input "I" and one output "O".
ModelInferRequest message_of(const std::string& datatype) {
  ModelInferRequest message;
  message.set_model_name("m");
  auto* input = message.add_inputs();
  input->set_name("I");
  input->set_datatype(datatype);
  input->add_shape(4);
  message.add_outputs()->set_name("O");
  return message;
}

class RegionTensorsTest : public ::testing::Test {
 protected:
  ~RegionTensorsTest() override { EXPECT_EQ(memory_.leases(), 0); }
  void expect_refused(const ModelInferRequest& message, Code code, std::string_view text) {
    ReadMessage read(message.SerializeAsString(), {}, &memory_);
    ASSERT_TRUE(read.parse_status.ok());
    EXPECT_EQ(read.fill_status.code(), code);
    EXPECT_EQ(read.fill_status.message(), text);
  }

  test::FakeSharedMemory memory_;
};

TEST_F(RegionTensorsTest, ElementsOfFixedSizeAreUsedInPlace) {
  std::string& bytes = memory_.add("r", "0123456789");
  ModelInferRequest message = message_of("UINT8");
  place(message.mutable_inputs(0), "r", 4, 3);
  ReadMessage read(message.SerializeAsString(), {}, &memory_);
  ASSERT_TRUE(read.ok()) << read.status().text();
  const InputTensor& input = read.request.inputs[0];
  ASSERT_EQ(input.buffers.size(), 1u);
  EXPECT_EQ(input.buffers[0].data, bytes.data() + 3);
  EXPECT_EQ(input.size_bytes, 4u);
  EXPECT_EQ(test::input_bytes(input), "3456");
  EXPECT_EQ(memory_.leases(), 1);
  EXPECT_TRUE(read.regions.check().ok());
  memory_.set_broken("r");
  EXPECT_EQ(read.regions.check().code(), Code::kInvalidArgument);
  read.regions.release();
  EXPECT_EQ(memory_.leases(), 0);
}

TEST_F(RegionTensorsTest, BytesAreCopiedOnce) {
  for (size_t size : {size_t{5}, size_t{64 * 1024}, size_t{64 * 1024 + 1}, size_t{1} << 20}) {
    std::string& bytes = memory_.add("r", std::string(size, 'x'));
    ModelInferRequest message = message_of("BYTES");
    place(message.mutable_inputs(0), "r", static_cast<int64_t>(size));
    ReadMessage read(message.SerializeAsString(), {}, &memory_);
    ASSERT_TRUE(read.ok()) << read.status().text();
    std::fill(bytes.begin(), bytes.end(), 'y');
    EXPECT_EQ(test::input_bytes(read.request.inputs[0]), std::string(size, 'x'));
    EXPECT_EQ(read.request.inputs[0].size_bytes, size);
  }
}

TEST_F(RegionTensorsTest, APartOfNoBytesHasNoBuffers) {
  memory_.add("r", "0123");
  for (const char* datatype : {"INT32", "BYTES"}) {
    ModelInferRequest message = message_of(datatype);
    place(message.mutable_inputs(0), "r", 0);
    ReadMessage read(message.SerializeAsString(), {}, &memory_);
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(read.request.inputs[0].buffers.empty());
    EXPECT_EQ(read.request.inputs[0].size_bytes, 0u);
  }
}

TEST_F(RegionTensorsTest, InputsInRegionsConsumeNoRawEntry) {
  memory_.add("r", "shared");
  ModelInferRequest message = message_of("UINT8");
  place(message.mutable_inputs(0), "r", 6);
  auto* second = message.add_inputs();
  second->set_name("J");
  second->set_datatype("UINT8");
  message.add_raw_input_contents("raw");
  ReadMessage read(message.SerializeAsString(), {}, &memory_);
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(test::input_bytes(read.request.inputs[0]), "shared");
  EXPECT_EQ(test::input_bytes(read.request.inputs[1]), "raw");
}

TEST_F(RegionTensorsTest, OutputsGetTheirPlace) {
  std::string& bytes = memory_.add("r", std::string(16, '\0'));
  memory_.add("in", "0123");
  ModelInferRequest message = message_of("UINT8");
  place(message.mutable_inputs(0), "in", 4);
  place(message.mutable_outputs(0), "r", 8, 2);
  message.add_outputs()->set_name("P");
  ReadMessage read(message.SerializeAsString(), {}, &memory_);
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read.request.outputs[0].placement.data, bytes.data() + 2);
  EXPECT_EQ(read.request.outputs[0].placement.size_bytes, 8u);
  EXPECT_EQ(read.request.outputs[1].placement.data, nullptr);
  EXPECT_EQ(memory_.leases(), 2);
}

TEST_F(RegionTensorsTest, AnInputThatAnOutputOverwritesIsCopied) {
  std::string& bytes = memory_.add("r", "0123456789");
  struct Case {
    int64_t output_offset;
    bool copied;
  };
  for (Case one : {Case{0, false}, Case{1, true}, Case{3, true}, Case{5, true}, Case{6, false}}) {
    ModelInferRequest message = message_of("UINT8");
    place(message.mutable_inputs(0), "r", 3, 3);  // 3, 4, 5
    place(message.mutable_outputs(0), "r", 3, one.output_offset);
    ReadMessage read(message.SerializeAsString(), {}, &memory_);
    ASSERT_TRUE(read.ok()) << read.status().text();
    const Buffer& buffer = read.request.inputs[0].buffers[0];
    EXPECT_EQ(buffer.data != bytes.data() + 3, one.copied) << one.output_offset;
    EXPECT_EQ(test::input_bytes(read.request.inputs[0]), "345");
    EXPECT_EQ(read.request.inputs[0].size_bytes, 3u);
  }
}

TEST_F(RegionTensorsTest, RefusesWithTheTextsOfTheService) {
  memory_.add("r", "0123");
  struct Case {
    const char* region;
    int64_t byte_size;
    int64_t offset;
    Code code;
    const char* text;
  };
  for (const Case& one :
       {Case{"x", 1, 0, Code::kNotFound, "Unable to find shared memory region: 'x'"},
        Case{"r", 1, 4, Code::kInvalidArgument, "Invalid offset for shared memory region: 'r'"},
        Case{"r", 2, 3, Code::kInvalidArgument,
             "Invalid offset + byte size for shared memory region: 'r'"}}) {
    ModelInferRequest input = message_of("UINT8");
    place(input.mutable_inputs(0), one.region, one.byte_size, one.offset);
    expect_refused(input, one.code, one.text);
    ModelInferRequest output = message_of("UINT8");
    place(output.mutable_inputs(0), "r", 1);
    place(output.mutable_outputs(0), one.region, one.byte_size, one.offset);
    expect_refused(output, one.code, one.text);
  }
}

TEST_F(RegionTensorsTest, RefusesNumbersBelowZero) {
  memory_.add("r", "0123");
  ModelInferRequest message = message_of("UINT8");
  place(message.mutable_inputs(0), "r", 1, -1);
  expect_refused(message, Code::kInvalidArgument,
                 "invalid value for 'shared_memory_offset' parameter for tensor 'I': -1, expected >= 0");
  place(message.mutable_inputs(0), "r", INT64_MIN);
  (*message.mutable_inputs(0)->mutable_parameters())["shared_memory_offset"].set_int64_param(0);
  expect_refused(
      message, Code::kInvalidArgument,
      "invalid value for 'shared_memory_byte_size' parameter for tensor 'I': -9223372036854775808, "
      "expected >= 0");
  message = message_of("UINT8");
  place(message.mutable_inputs(0), "r", 1);
  place(message.mutable_outputs(0), "r", -5);
  expect_refused(message, Code::kInvalidArgument,
                 "invalid value for 'shared_memory_byte_size' parameter for tensor 'O': -5, expected >= 0");
}

TEST_F(RegionTensorsTest, LimitsTheNameOfARegion) {
  memory_.add(std::string(kMaxRegionNameBytes, 'n'), "0123");
  ModelInferRequest message = message_of("UINT8");
  place(message.mutable_inputs(0), std::string(kMaxRegionNameBytes, 'n'), 4);
  ReadMessage read(message.SerializeAsString(), {}, &memory_);
  EXPECT_TRUE(read.ok());
  place(message.mutable_inputs(0), std::string(kMaxRegionNameBytes + 1, 'n'), 4);
  expect_refused(
      message, Code::kInvalidArgument,
      "the name of the shared memory region for tensor 'I' has 256 bytes, at most 255 are allowed");
}

// --- responses ---

TEST_F(RegionTensorsTest, AnOutputInARegionHasAnEmptyRawEntry) {
  std::string& bytes = memory_.add("r", std::string(100'000, 'r'));
  ModelInferRequest message = message_of("UINT8");
  message.set_id("7");
  place(message.mutable_inputs(0), "r", 4);
  place(message.mutable_outputs(0), "r", 100'000);
  message.add_outputs()->set_name("P");
  ReadMessage read(message.SerializeAsString(), {}, &memory_);
  ASSERT_TRUE(read.ok()) << read.status().text();

  for (uint64_t size : {uint64_t{0}, uint64_t{3}, uint64_t{100'000}}) {
    Response response;
    std::string sent = "sent";
    const int64_t shape[] = {static_cast<int64_t>(size)};
    OutputTensor& placed = response.add_output("O", DataType::kUint8, shape);
    placed.buffer.data = bytes.data();
    placed.buffer.size_bytes = size;
    OutputTensor& other = response.add_output("P", DataType::kUint8, shape);
    other.buffer.data = sent.data();
    other.buffer.size_bytes = sent.size();
    V2InferResponse answer("m", "1", read.request, response, 64);
    std::string head(answer.head_bytes(), '\0');
    std::string joined;
    for (const V2ResponsePart& part : answer.write(reinterpret_cast<uint8_t*>(head.data()))) {
      EXPECT_EQ(part.tensor, nullptr);
      joined.append(reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size());
    }
    EXPECT_EQ(joined.size(), answer.total_bytes());
    inference::ModelInferResponse parsed;
    ASSERT_TRUE(parsed.ParseFromString(joined));
    EXPECT_EQ(parsed.id(), "7");
    ASSERT_EQ(parsed.raw_output_contents_size(), 2);
    EXPECT_EQ(parsed.raw_output_contents(0), "");
    EXPECT_EQ(parsed.raw_output_contents(1), "sent");
    EXPECT_EQ(parsed.outputs(0).shape(0), static_cast<int64_t>(size));
  }
}

TEST(RegionUses, WithoutTheServiceThereAreNoRegions) {
  RegionUses regions;
  Buffer buffer;
  EXPECT_EQ(regions.acquire("r", 0, 1, &buffer).message(), "Unable to find shared memory region: 'r'");
  EXPECT_TRUE(regions.empty());
  EXPECT_TRUE(regions.check().ok());
}

TEST(RegionUses, ARequestStaysWithTheServiceThatGaveItsFirstRegion) {
  test::FakeSharedMemory first, second;
  first.add("a", "1");
  first.add("b", "2");
  second.add("a", "3");
  test::FollowedFake<SharedMemory> service(&first);
  RegionUses in_flight, later;
  in_flight.set_source(service.get());
  later.set_source(service.get());
  Buffer buffer;
  ASSERT_TRUE(in_flight.acquire("a", 0, 1, &buffer).ok());

  service.put(&second);
  ASSERT_TRUE(in_flight.acquire("b", 0, 1, &buffer).ok());
  EXPECT_EQ(*static_cast<const char*>(buffer.data), '2');
  ASSERT_TRUE(later.acquire("a", 0, 1, &buffer).ok());
  EXPECT_EQ(*static_cast<const char*>(buffer.data), '3');
  EXPECT_TRUE(in_flight.check().ok());
  EXPECT_EQ(service.holders(), 2u);
  in_flight.release();
  EXPECT_EQ(first.leases(), 0);
  EXPECT_EQ(service.holders(), 1u) << "the first one can end";

  service.put(nullptr);
  EXPECT_EQ(in_flight.acquire("a", 0, 1, &buffer).code(), Code::kNotFound) << "switched off";
  later.release();
  EXPECT_EQ(second.leases(), 0);
  EXPECT_EQ(service.holders(), 0u);
}

/// Regions "d" on device 1 and "e" on device 0, both 8 bytes.
class DeviceRegionsTest : public RegionTensorsTest {
 protected:
  DeviceRegionsTest() : d_(gpu_.make("01234567", 1)), e_(gpu_.make("abcdefgh", 0)) {
    memory_.add("d", d_);
    memory_.add("e", e_);
    host_.registry().publish<Memory>("gpu", gpu_, 0, Memory::kDevicesMinor);
    EXPECT_TRUE(devices_.open().ok());
  }
  ~DeviceRegionsTest() override {
    gpu_.free(d_);
    gpu_.free(e_);
  }

  test::FakeHost host_;
  test::FakeDeviceMemory gpu_;
  DeviceMemory devices_{host_};
  const Buffer d_, e_;
};

TEST_F(DeviceRegionsTest, ElementsOfFixedSizeStayOnTheDevice) {
  ModelInferRequest message = message_of("UINT8");
  place(message.mutable_inputs(0), "d", 4, 3);
  place(message.mutable_outputs(0), "e", 4, 1);
  ReadMessage read(message.SerializeAsString(), {}, &memory_, &devices_);
  ASSERT_TRUE(read.ok()) << read.status().text();
  const Buffer& input = read.request.inputs[0].buffers[0];
  EXPECT_EQ(input.kind, MemoryKind::kGpu);
  EXPECT_EQ(input.device_id, 1);
  EXPECT_EQ(gpu_.read(input), "3456");
  EXPECT_EQ(gpu_.read(read.request.outputs[0].placement), "bcde");
}

TEST_F(DeviceRegionsTest, BytesAndWhatAnOutputOverlapsAreCopiedToTheCpu) {
  for (const char* datatype : {"BYTES", "UINT8"}) {
    ModelInferRequest message = message_of(datatype);
    place(message.mutable_inputs(0), "d", 4, 3);
    place(message.mutable_outputs(0), "d", 4, 1);
    ReadMessage read(message.SerializeAsString(), {}, &memory_, &devices_);
    ASSERT_TRUE(read.ok()) << read.status().text();
    ASSERT_TRUE(is_host_ready(read.request.inputs[0].buffers[0])) << datatype;
    EXPECT_EQ(test::input_bytes(read.request.inputs[0]), "3456");
  }
}

TEST_F(DeviceRegionsTest, WithoutAProviderBytesCanNotBeRead) {
  ModelInferRequest message = message_of("BYTES");
  place(message.mutable_inputs(0), "d", 4, 3);
  expect_refused(message, Code::kInvalidArgument,
                 "a buffer is in memory of GPU 1, expected CPU memory: no plugin reaches memory of GPUs");
}

}  // namespace
}  // namespace atl::frontends
