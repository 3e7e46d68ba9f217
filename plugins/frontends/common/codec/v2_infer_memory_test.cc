// What reading a message takes: at most four times the message, itself included, and the tensors that it
// gives element by element, in the form that models read.
#include <gtest/gtest.h>

#include "atoll/testing/fake_shared_memory.h"
#include "atoll/testing/followed_fake.h"
#include "atoll/testing/peak_memory.h"
#include "frontends/common/testing/random_messages.h"

namespace atl::frontends {
namespace {

using test::Random;

constexpr size_t kMessageBytes = size_t{6} << 20;
/// Of the message, beside the message itself.
constexpr uint64_t kMostGrowth = 3;
/// What the lists of at most 1,024 entries take, and the inexactness of measuring.
constexpr uint64_t kSlackBytes = uint64_t{2} << 20;

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes += static_cast<char>(value);
}

std::string field(uint32_t number, const std::string& bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}

std::string repeated(const std::string& unit) {
  std::string bytes;
  while (bytes.size() + unit.size() <= kMessageBytes) bytes += unit;
  return bytes;
}

/// Of tensors that were converted; raw ones are used where they are.
uint64_t converted_bytes(const std::string& message) {
  const ReadMessage read(message);
  uint64_t bytes = 0;
  for (const InputTensor& input : read.request.inputs) {
    for (const Buffer& buffer : input.buffers) {
      const auto* data = static_cast<const uint8_t*>(buffer.data);
      const ByteSpan slice = read.slices.spans()[0];
      if (data < slice.data() || data >= slice.data() + slice.size()) bytes += buffer.size_bytes;
    }
  }
  return bytes;
}

void expect_bounded(const std::string& message, const std::string& what) {
  const uint64_t converted = converted_bytes(message);
  const SlicedBytes slices(message);
  auto read = [&slices] {
    Request request;
    RegionUses regions;
    V2InferRequest reader;
    if (reader.parse(slices.spans(), request.arena()).ok()) (void)reader.fill(request, regions).ok();
  };
  EXPECT_TRUE(test::grows_at_most(kMostGrowth * message.size() + converted + kSlackBytes, read))
      << what << ", a message of " << message.size() << " bytes";
}

TEST(V2InferMemory, OfFieldsThatRepeatWithoutEnd) {
  const std::string value = field(2, field(3, "text"));
  // Numbers of the fields on the way to what repeats.
  const std::vector<std::pair<std::vector<uint32_t>, std::string>> cases = {
      {{}, field(1, "")},
      {{}, field(1, "model")},
      {{}, field(3, std::string(2100, 'i'))},
      {{}, field(4, "")},
      {{}, field(5, "")},
      {{}, field(6, "")},
      {{}, field(7, "")},
      {{}, "\x40\x01"},
      {{4}, field(1, "key")},
      {{4}, value},
      {{4, 2}, field(3, "text")},
      {{4, 2}, field(3, std::string(70000, 't'))},
      {{5}, field(1, "name")},
      {{5}, field(2, "INT64")},
      {{5}, field(3, "")},
      {{5}, field(4, field(1, "classification") + value)},
      {{5}, field(5, "")},
      {{5}, field(5, "\x08\x01")},
      {{5}, field(5, field(8, ""))},
      {{5, 5}, "\x18\x01"},
      {{5, 5}, field(8, "")},
      {{6}, field(1, "name")},
      {{6}, field(2, value)},
  };
  for (const auto& [path, unit] : cases) {
    std::string message = repeated(unit);
    std::string what = "field";
    for (auto step = path.rbegin(); step != path.rend(); ++step) message = field(*step, message);
    for (uint32_t step : path) what += cat(" ", step, " >");
    expect_bounded(message, cat(what, " ", static_cast<uint32_t>(unit[0]) >> 3));
  }
}

TEST(V2InferMemory, OfTypedContents) {
  for (const auto& [datatype, list, element] : {std::tuple{"INT64", 3u, "\x01"}, {"BOOL", 1u, "\x01"}}) {
    const std::string contents = field(5, field(list, repeated(element)));
    expect_bounded(field(1, "m") + field(5, field(1, "I") + field(2, datatype) + contents), datatype);
  }
}

TEST(V2InferMemory, OfRandomMessagesGrownLarge) {
  Random random(20261122);
  for (int i = 0; i < 12; ++i) {
    // One part of a message that makes sense, or of one that has been damaged, repeated.
    std::string message = random_message(random);
    const size_t from = random.below(message.size());
    std::string unit = message.substr(from, 1 + random.below(message.size() - from));
    if (random.chance(30)) unit[random.below(unit.size())] = static_cast<char>(random.next());
    message.insert(from, repeated(unit));
    if (random.chance(50)) message = field(5, field(1, "I") + message);
    expect_bounded(message, cat("random message ", i));
  }
}

TEST(V2InferMemory, TypedContentsAreLimitedOnceTheyAreConverted) {
  inference::ModelInferRequest message;
  message.set_model_name("m");
  for (int i = 0; i < 2; ++i) {
    auto* input = message.add_inputs();
    input->set_name(cat("I", i));
    input->set_datatype("INT64");
    for (int value = 0; value < 50; ++value) input->mutable_contents()->add_int64_contents(1);
  }
  const std::string bytes = message.SerializeAsString();
  for (uint64_t limit : {799u, 800u, 801u}) {
    const SlicedBytes slices(bytes);
    Request request;
    RegionUses regions;
    V2InferRequest reader;
    ASSERT_TRUE(reader.parse(slices.spans(), request.arena()).ok());
    const Status filled = reader.fill(request, regions, {limit, "max_message_bytes"});
    EXPECT_EQ(filled.code(), limit < 800 ? Code::kInvalidArgument : Code::kOk) << limit;
    if (limit >= 800) continue;
    EXPECT_EQ(
        filled.message(),
        "the contents of input 'I1' for model 'm' take 400 bytes as a tensor, which with the inputs before "
        "it is more than option max_message_bytes allows; raw_input_contents take no more than they are "
        "sent as");
  }
}

TEST(V2InferMemory, WhatIsCopiedOutOfRegionsIsLimited) {
  test::FakeSharedMemory memory;
  memory.add("r", std::string(1000, '\0'));
  inference::ModelInferRequest message;
  message.set_model_name("m");
  for (const char* name : {"A", "B", "C"}) {
    auto* input = message.add_inputs();
    input->set_name(name);
    // Those of numbers are used in place: they may be as large as the region.
    input->set_datatype(std::string(name) == "C" ? "UINT8" : "BYTES");
    (*input->mutable_parameters())["shared_memory_region"].set_string_param("r");
    (*input->mutable_parameters())["shared_memory_byte_size"].set_int64_param(1000);
  }
  const std::string bytes = message.SerializeAsString();
  const SlicedBytes slices(bytes);
  Request request;
  test::FollowedFake<SharedMemory> followed(&memory);
  RegionUses regions;
  V2InferRequest reader;
  for (uint64_t limit : {1999u, 2000u, 1999u}) {
    regions.set_source(followed.get(), {limit, "max_message_bytes"});
    ASSERT_TRUE(reader.parse(slices.spans(), request.arena()).ok());
    const Status filled = reader.fill(request, regions);
    EXPECT_EQ(filled.code(), limit < 2000 ? Code::kInvalidArgument : Code::kOk);
    if (limit < 2000) {
      EXPECT_EQ(
          filled.message(),
          "input 'B' has 1000 bytes in shared memory that must be copied, 1000 bytes of other inputs are, at "
          "most 1999 are allowed (option max_message_bytes)");
    }
    regions.release();
    reader.reset();
    request.reset();
  }
}

}  // namespace
}  // namespace atl::frontends
