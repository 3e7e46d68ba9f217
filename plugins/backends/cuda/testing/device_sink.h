/// A request's sink that has memory of devices, as an ensemble's or a frontend's with clients' memory there.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "atoll/memory/memory.h"
#include "atoll/testing/recording_sink.h"
#include "backends/cuda/execution/batch_group.h"

namespace atl::cuda_backend::test {

inline Buffer bytes_in(std::string& bytes) { return host_buffer(bytes.data(), bytes.size()); }

/// Stands before a TestRequest, which gets what arrives in device memory as bytes of the host.
class DeviceSink final : public ResponseSink {
 public:
  /// \param kind  of the memory that it gives to whoever prefers device memory
  DeviceSink(atl::test::TestRequest& request, Memory& memory, MemoryKind kind = MemoryKind::kGpu) noexcept
      : memory_(memory), kind_(kind), next_(request) {
    request->sink = this;
  }
  ~DeviceSink() {
    for (const Buffer& buffer : given_) memory_.free(buffer);
  }
  uint32_t on_device() const noexcept { return on_device_; }  ///< outputs that arrived there
  /// False: the copies of those that the test looks at failed.
  bool are_fetched() const noexcept { return are_fetched_; }

  Response* new_response() noexcept override {
    Response* made = next_.new_response();
    made->sink = this;
    return made;
  }
  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind preferred,
                  int64_t device) noexcept override {
    const RequestedOutput* wanted = next_.request().find_output(output.name);
    const bool is_placed = wanted != nullptr && wanted->placement.data != nullptr;
    if (is_placed || preferred != MemoryKind::kGpu || kind_ != MemoryKind::kGpu)
      return next_.allocate(response, output, size_bytes, preferred, device);
    Result<Buffer> buffer = memory_.allocate(size_bytes, device);
    if (!buffer.ok()) return std::move(buffer).status();
    given_.push_back(*buffer);
    output.buffer = *buffer;
    return {};
  }
  void send(Response* response, uint32_t flags) noexcept override {
    if (response != nullptr) {
      for (OutputTensor& output : response->outputs) {
        if (output.buffer.kind == MemoryKind::kGpu) fetch(output);
      }
    }
    if (response != nullptr) response->sink = &next_;
    next_.send(response, flags);
  }
  void discard(Response* response) noexcept override { next_.discard(response); }
  void released(Request& request) noexcept override { next_.released(request); }

 private:
  void fetch(OutputTensor& output) noexcept {
    ++on_device_;
    std::string& bytes = bytes_.emplace_back(output.buffer.size_bytes, '?');
    are_fetched_ = are_fetched_ && memory_.copy(bytes_in(bytes), output.buffer).ok();
    output.buffer = bytes_in(bytes);
  }

  Memory& memory_;
  const MemoryKind kind_;
  atl::test::TestRequest& next_;
  uint32_t on_device_ = 0;
  bool are_fetched_ = true;
  std::vector<Buffer> given_;
  std::deque<std::string> bytes_;
};

/// Memory of a device, for inputs and as the place of outputs.
class DeviceBytes {
 public:
  DeviceBytes(Memory& memory, std::string_view bytes, int32_t device = 0)
      : memory_(memory), buffer_(memory.allocate(bytes.size(), device).value()) {
    write(bytes);
  }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes() { memory_.free(buffer_); }
  void write(std::string_view bytes) {
    std::string copy(bytes);
    EXPECT_TRUE(memory_.copy(buffer_, bytes_in(copy)).ok());
  }
  std::string read() const {
    std::string bytes(buffer_.size_bytes, '?');
    EXPECT_TRUE(memory_.copy(bytes_in(bytes), buffer_).ok());
    return bytes;
  }
  const Buffer& buffer() const noexcept { return buffer_; }
  Buffer part(uint64_t offset, uint64_t size_bytes) const noexcept {
    Buffer part = buffer_;
    part.data = static_cast<char*>(part.data) + offset;
    part.size_bytes = size_bytes;
    return part;
  }

 private:
  Memory& memory_;
  Buffer buffer_;
};

/// Gives an input other buffers.
inline void set_buffers(atl::test::TestRequest& request, InputTensor& input,
                        const std::vector<Buffer>& buffers) {
  input.buffers = request->arena().copy(std::span<const Buffer>(buffers));
}

}  // namespace atl::cuda_backend::test
