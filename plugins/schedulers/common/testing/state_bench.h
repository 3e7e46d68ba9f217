/// What tests of implicit state share.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/followed_fake.h"
#include "atoll/testing/gpu/fake_device_memory.h"
#include "atoll/testing/recording_sink.h"
#include "schedulers/common/state/implicit_state.h"
#include "schedulers/common/testing/host_memory_fake.h"

namespace atl::schedulers {

inline StateTensor state_tensor(std::string input, std::string output, DataType datatype,
                                std::vector<int64_t> dims, std::vector<int64_t> initial_dims) {
  StateTensor tensor;
  tensor.input_name = std::move(input);
  tensor.output_name = std::move(output);
  tensor.datatype = datatype;
  tensor.dims = std::move(dims);
  tensor.initial_dims = std::move(initial_dims);
  return tensor;
}
inline void set_initial_data(StateTensor& tensor, const std::string& bytes) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  tensor.initial_data.assign(data, data + bytes.size());
}
inline std::string text_in(const Buffer& buffer) {
  return {static_cast<const char*>(buffer.data), buffer.size_bytes};
}
inline std::vector<int64_t> shape_in(const Request& request, std::string_view name) {
  const InputTensor* input = request.find_input(name);
  return input == nullptr ? std::vector<int64_t>{-1}
                          : std::vector<int64_t>{input->shape.begin(), input->shape.end()};
}

/// The states of a model, and providers of memory where a test publishes them.
class StateBench : public ::testing::Test {
 protected:
  static constexpr uint64_t kGrowableBytes = 10'000;

  StateBench() { EXPECT_TRUE(memory.open().ok()); }
  ~StateBench() override { close(); }
  void close() {
    states.reset();
    memory.close();
  }
  void provide(const char* instance, Memory& provider, uint32_t minor = Memory::kGrowableMinor) {
    host.registry().publish<Memory>(instance, provider, 0, minor);
    test::publish_service_changed(host, Memory::kInterfaceId, instance);
  }
  void withdraw(const char* instance) {
    host.registry().withdraw(std::string(Memory::kInterfaceId), instance);
    test::publish_service_changed(host, Memory::kInterfaceId, instance);
  }
  void make(std::vector<StateTensor> tensors, bool has_batch_dimension = false) {
    auto layout = StateLayout::make("m", std::move(tensors), has_batch_dimension);
    ASSERT_TRUE(layout.ok()) << layout.status().message();
    states = std::make_unique<ImplicitStates>(std::move(layout).value(), memory);
  }
  /// A state "O" of int32 with these dims, which comes as input "I".
  void make_one(std::vector<int64_t> dims, std::vector<int64_t> initial_dims, bool same_buffer = false) {
    std::vector<StateTensor> tensors{
        state_tensor("I", "O", DataType::kInt32, std::move(dims), std::move(initial_dims))};
    tensors[0].same_buffer = same_buffer;
    make(std::move(tensors));
  }
  /// What a request of the sequence gets at this moment as input "I".
  std::vector<int32_t> value(ImplicitState& state) {
    Request request;
    state.attach(request);
    return read(request);
  }
  std::vector<int32_t> read(const Request& request) {
    const InputTensor* input = request.find_input("I");
    if (input == nullptr || input->buffers.size() != 1) return {-1};
    Buffer buffer = input->buffers[0];
    EXPECT_EQ(buffer.size_bytes, input->size_bytes);
    EXPECT_EQ(*element_count(input->shape) * 4, static_cast<int64_t>(input->size_bytes));
    return test::values_of<int32_t>(buffer.kind == MemoryKind::kGpu ? gpu.read(buffer) : text_in(buffer));
  }
  /// Asks for the buffer of "O" and fills it.
  Buffer write(SequenceState& state, std::vector<int32_t> values, MemoryKind kind = MemoryKind::kCpu) {
    const std::vector<int64_t> shape{static_cast<int64_t>(values.size())};
    Buffer buffer;
    const Status status = state.output("O", DataType::kInt32, shape, values.size() * 4, kind, 0, &buffer);
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) return buffer;
    EXPECT_EQ(buffer.size_bytes, values.size() * 4);
    Buffer bytes;
    bytes.data = values.data();
    bytes.size_bytes = values.size() * 4;
    EXPECT_TRUE(
        (buffer.kind == MemoryKind::kGpu ? gpu.copy(buffer, bytes) : copy_on_host(buffer, bytes)).ok());
    return buffer;
  }
  /// One step of the sequence.
  Buffer step(ImplicitState& state, std::vector<int32_t> values, MemoryKind kind = MemoryKind::kCpu) {
    Request request;
    state.attach(request);
    Buffer buffer = write(state, std::move(values), kind);
    EXPECT_TRUE(state.commit("O").ok());
    return buffer;
  }

  test::FakeHost host;
  HostMemoryFake cpu{MemoryKind::kCpu};
  test::FakeDeviceMemory gpu;
  StateMemory memory{host, kGrowableBytes};
  std::unique_ptr<ImplicitStates> states;
};

}  // namespace atl::schedulers
