#include "schedulers/common/control_inputs.h"

#include <gtest/gtest.h>

#include <cstring>

namespace atl::schedulers {
namespace {

template <class T>
std::array<std::byte, 4> bytes_of(T value) {
  std::array<std::byte, 4> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
template <class T>
ControlInput control(const char* name, ControlKind kind, DataType datatype, T no, T yes) {
  return {name, kind, datatype, bytes_of(no), bytes_of(yes)};
}
template <class T>
T value_of(const Request& request, std::string_view name) {
  const InputTensor* input = request.find_input(name);
  EXPECT_NE(input, nullptr);
  EXPECT_EQ(input->size_bytes, sizeof(T));
  EXPECT_EQ(input->flags, InputTensor::kAddedByScheduler);
  T value;
  std::memcpy(&value, input->buffers[0].data, sizeof value);
  return value;
}
ControlInput correlation(DataType datatype) { return {"ID", ControlKind::kCorrelationId, datatype, {}, {}}; }

TEST(ControlInputs, SayWhatTheRequestIs) {
  const ControlInputs controls({control<float>("START", ControlKind::kStart, DataType::kFp32, -1.5f, 2.5f),
                                control<int32_t>("END", ControlKind::kEnd, DataType::kInt32, 7, -7),
                                control<bool>("READY", ControlKind::kReady, DataType::kBool, false, true)},
                               true);
  struct Case {
    uint32_t flags;
    bool ready;
    float start;
    int32_t end;
  };
  for (const Case& one :
       {Case{kSequenceStart | kSequenceEnd, true, 2.5f, -7}, Case{kSequenceStart, true, 2.5f, 7},
        Case{kSequenceEnd, true, -1.5f, -7}, Case{0, true, -1.5f, 7}, Case{0, false, -1.5f, 7}}) {
    Request request;
    controls.set(request, {one.flags, one.ready, {}});
    EXPECT_EQ(value_of<float>(request, "START"), one.start);
    EXPECT_EQ(value_of<int32_t>(request, "END"), one.end);
    EXPECT_EQ(value_of<bool>(request, "READY"), one.ready);
    EXPECT_EQ(request.inputs[0].shape.size(), 2u);
    EXPECT_EQ(request.inputs[0].shape[0], 1);
    EXPECT_EQ(request.inputs[0].shape[1], 1);
  }
}

TEST(ControlInputs, IdsHaveTheWidthOfTheirType) {
  const SequenceId id{.number = 0x8000000180000002ull, .text = {}};
  const auto set = [&](Request& request, DataType datatype) {
    ControlInputs({correlation(datatype)}, false).set(request, {0, true, id});
    EXPECT_EQ(request.inputs[0].shape.size(), 1u);
  };
  Request whole, whole_signed, low, low_signed;
  set(whole, DataType::kUint64);
  set(whole_signed, DataType::kInt64);
  set(low, DataType::kUint32);
  set(low_signed, DataType::kInt32);
  EXPECT_EQ(value_of<uint64_t>(whole, "ID"), id.number);
  EXPECT_EQ(value_of<int64_t>(whole_signed, "ID"), static_cast<int64_t>(id.number));
  EXPECT_EQ(value_of<uint32_t>(low, "ID"), 0x80000002u);
  EXPECT_EQ(value_of<int32_t>(low_signed, "ID"), static_cast<int32_t>(0x80000002u));
}

TEST(ControlInputs, ATextHasItsLength) {
  Request request;
  ControlInputs({correlation(DataType::kBytes)}, false).set(request, {0, true, {.number = 0, .text = "ab"}});
  const Buffer& buffer = request.find_input("ID")->buffers[0];
  EXPECT_EQ(std::string_view(static_cast<const char*>(buffer.data), buffer.size_bytes),
            std::string_view("\2\0\0\0ab", 6));
}

TEST(ControlInputs, WhoHasNoSequenceHasAnIdOfNothing) {
  Request number, text;
  ControlInputs({correlation(DataType::kUint32)}, false).set(number, {});
  ControlInputs({correlation(DataType::kBytes)}, false).set(text, {});
  EXPECT_EQ(value_of<uint32_t>(number, "ID"), 0u);
  EXPECT_EQ(value_of<uint32_t>(text, "ID"), 0u) << "the length of an empty text";
}

TEST(ControlInputs, ARequestThatComesBackGetsNewValues) {
  const ControlInputs controls({control<int32_t>("START", ControlKind::kStart, DataType::kInt32, 0, 1)},
                               true);
  Request request;
  controls.set(request, {kSequenceStart, true, {}});
  controls.set(request, {});
  EXPECT_EQ(request.inputs.size(), 1u);
  EXPECT_EQ(value_of<int32_t>(request, "START"), 0);
}

}  // namespace
}  // namespace atl::schedulers
