#include "schedulers/common/sequence/control_inputs.h"

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

template <class T>
T id_as(DataType datatype, const SequenceId& id) {
  const ControlInputs controls({correlation(datatype)}, false);
  Request request;
  controls.set(request, {0, true, id});
  EXPECT_EQ(request.inputs[0].shape.size(), 1u);
  return value_of<T>(request, "ID");
}

TEST(ControlInputs, IdsHaveTheWidthOfTheirType) {
  const SequenceId id{.number = 0x8000000180000002ull, .text = {}};
  EXPECT_EQ(id_as<uint64_t>(DataType::kUint64, id), id.number);
  EXPECT_EQ(id_as<int64_t>(DataType::kInt64, id), static_cast<int64_t>(id.number));
  EXPECT_EQ(id_as<uint32_t>(DataType::kUint32, id), 0x80000002u);
  EXPECT_EQ(id_as<int32_t>(DataType::kInt32, id), static_cast<int32_t>(0x80000002u));
}

TEST(ControlInputs, ATextHasItsLength) {
  using Element = std::array<char, 6>;
  const Element expected{2, 0, 0, 0, 'a', 'b'};
  EXPECT_EQ(id_as<Element>(DataType::kBytes, {.number = 0, .text = "ab"}), expected);
}

TEST(ControlInputs, WhoHasNoSequenceHasAnIdOfNothing) {
  EXPECT_EQ(id_as<uint32_t>(DataType::kUint32, {}), 0u);
  EXPECT_EQ(id_as<uint32_t>(DataType::kBytes, {}), 0u) << "the length of an empty text";
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
