/// Models on GPUs of the two doubles: memory/cuda on the driver's, the backend on ONNX Runtime's.
#pragma once

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "atoll/request/sink_interposer.h"
#include "atoll/testing/followed_fake.h"
#include "atoll/testing/gpu/cuda_double.h"
#include "atoll/testing/plugin_runner.h"
#include "backends/onnxruntime/gpu_source.h"
#include "backends/onnxruntime/testing/gpu_double.h"
#include "backends/onnxruntime/testing/instance_fixture.h"

namespace atl::ort::test {

/// Gives memory of a GPU to who asks for it; whoever is sent the response finds it with the CPU.
class DeviceSink final : public SinkInterposer {
 public:
  /// \param offset  by which memory misses the alignment of 64
  DeviceSink(Memory& memory, TestRequest& request, uint64_t offset = 0) : memory_(memory), offset_(offset) {
    interpose(*request);
  }
  virtual ~DeviceSink() {
    for (const Buffer& buffer : given_) memory_.free(buffer);
  }
  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind kind,
                  int64_t device) noexcept override {
    if (kind != MemoryKind::kGpu) {
      return SinkInterposer::allocate(response, output, size_bytes, kind, device);
    }
    Result<Buffer> given = memory_.allocate(size_bytes + offset_, device);
    if (!given.ok()) return std::move(given).status();
    given_.push_back(*given);
    output.buffer = *given;
    output.buffer.data = static_cast<char*>(given->data) + offset_;
    output.buffer.size_bytes = size_bytes;
    return {};
  }
  void send(Response* response, uint32_t flags) noexcept override {
    if (before_look) before_look();
    for (OutputTensor& output : response->outputs) {
      if (output.buffer.kind != MemoryKind::kGpu) continue;
      Buffer seen{response->arena().allocate(output.buffer.size_bytes, 64), output.buffer.size_bytes};
      const Status copied = memory_.copy(seen, output.buffer);
      EXPECT_TRUE(copied.ok()) << copied.text();
      output.buffer = seen;
    }
    SinkInterposer::send(response, flags);
  }
  size_t given() const noexcept { return given_.size(); }

  std::function<void()> before_look;  ///< may be null

 private:
  Memory& memory_;
  const uint64_t offset_;
  std::vector<Buffer> given_;
};

class GpuFixture : public OnnxInstanceTest {
 protected:
  void SetUp() override {
    ::setenv("ATOLL_CUDA_DOUBLE_DEVICES", "2", 1);
    driver().start_over();
    ort_double().forget();
    OnnxInstanceTest::SetUp();
    gpus_.emplace(cuda_host_);
    Status status = gpus_->set("library", ATOLL_CUDA_DOUBLE_PATH).create_and_start();
    ASSERT_TRUE(status.ok()) << status.text();
    memory_ = gpus_->query<Memory>();
    host_.registry().publish<Memory>("cuda", *memory_, 0, Memory::kGrowableMinor);
    host_.registry().publish<Cuda>("cuda", *gpus_->query<Cuda>());
    source_.emplace(host_, std::vector<std::string>());
    status = source_->open();
    ASSERT_TRUE(status.ok()) << status.text();
    context_.gpus = &*source_;
    backend_.open(context_, defaults_);
  }
  void TearDown() override {
    for (const Buffer& buffer : buffers_) memory_->free(buffer);
    OnnxInstanceTest::TearDown();
    source_.reset();
    gpus_.reset();
    if (checked_) {
      EXPECT_EQ(atl::test::report_of(driver()), "");
    }
    driver().end_failures();
  }
  static const atl::test::CudaDouble& driver() { return *atl::test::cuda_double(ATOLL_CUDA_DOUBLE_PATH); }
  static const GpuDouble& ort_double() { return *gpu_double(ATOLL_ONNXRUNTIME); }

  /// Of a device that was lost nothing is given back.
  void do_not_check() noexcept { checked_ = false; }
  Status make_gpu_instance(int32_t device = 0) {
    InstanceSpec spec;
    spec.name = "m_0";
    spec.kind = InstanceKind::kGpu;
    spec.device_id = device;
    spec.reporter = &reporter_;
    auto instance = model_->create_instance(spec);
    if (!instance.ok()) return std::move(instance).status();
    instance_ = std::move(instance).value();
    return {};
  }
  void serve_on_gpu(const OnnxGraph& graph, const std::string& config) {
    write(graph.file());
    Status status = load(config + kGroup);
    ASSERT_TRUE(status.ok()) << status.text();
    status = make_gpu_instance();
    ASSERT_TRUE(status.ok()) << status.text();
  }
  /// The input's bytes in memory of a device, in as many buffers as it has.
  void move_to_gpu(TestRequest& request, size_t input, int32_t device = 0, uint64_t offset = 0) {
    InputTensor& tensor = request->inputs[input];
    auto* moved = request->arena().make_array<Buffer>(tensor.buffers.size());
    for (size_t i = 0; i < tensor.buffers.size(); ++i) {
      const Buffer& from = tensor.buffers[i];
      auto given = memory_->allocate(from.size_bytes + offset, device);
      ASSERT_TRUE(given.ok());
      buffers_.push_back(*given);
      moved[i] = *given;
      moved[i].data = static_cast<char*>(given->data) + offset;
      moved[i].size_bytes = from.size_bytes;
      ASSERT_TRUE(memory_->copy(moved[i], from).ok());
    }
    tensor.buffers = {moved, tensor.buffers.size()};
  }

  static constexpr const char* kGroup = " instance_group { kind: KIND_GPU gpus: [ 0, 1 ] }";
  atl::test::FakeHost cuda_host_{"cuda", atl::test::FakeHost::Threads::kReal};
  atl::test::FakeHost host_{"onnxruntime"};
  std::optional<atl::test::PluginRunner> gpus_;
  Memory* memory_ = nullptr;
  std::optional<GpuSource> source_;
  std::vector<Buffer> buffers_;
  bool checked_ = true;
};

}  // namespace atl::ort::test
