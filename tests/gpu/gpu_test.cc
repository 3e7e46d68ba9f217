// memory/cuda, telemetry/nvml and the table of the driver's functions on a real driver. ATOLL_GPU_TEST_CUDA and
// ATOLL_GPU_TEST_NVML name other libraries, ATOLL_GPU_TEST_PTX the kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace {

std::string setting(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : value;
}
std::string cuda_library() { return setting("ATOLL_GPU_TEST_CUDA", "libcuda.so.1"); }
/// Beside this program.
std::string owner_program() {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename("atoll_cuda_owner").string();
}

}  // namespace

// What the header below starts another process with.
#define ATOLL_CUDA_DOUBLE_PATH cuda_library()
#define ATOLL_CUDA_OWNER owner_program()

#include "atoll/testing/conformance/memory.h"
#include "atoll/testing/fake_host.h"
#include "memory/cuda/cuda_memory.h"
#include "memory/cuda/testing/shared_allocation.h"
#include "telemetry/nvml/gpu_reader.h"
#include "telemetry/nvml/nvml_library.h"

namespace atl::test {
namespace {

/// The devices, opened once: a driver is not started twice in a process.
struct RealGpus {
  RealGpus() { devices.open(memory::open_driver(cuda_library()), {}); }
  FakeHost host{"cuda", FakeHost::Threads::kReal};
  memory::Devices devices{host};
};
memory::Devices& gpus() {
  static auto* const made = new RealGpus;
  return made->devices;
}

TEST(RealGpu, IsThere) {
  ASSERT_TRUE(gpus().absence().ok()) << gpus().absence().message();
  for (const CudaDeviceInfo& gpu : gpus().devices()) {
    EXPECT_GE(gpu.capability, 60);
    EXPECT_GT(gpu.memory_bytes, 0u);
    EXPECT_EQ(gpu.uuid.size(), 40u) << gpu.uuid;
    std::printf("GPU %d: %s, %s, %s\n", gpu.ordinal, gpu.name.c_str(), gpu.uuid.c_str(), gpu.pci_id.c_str());
  }
}

TEST(RealGpu, NvmlHasTheSameOnes) {
  ASSERT_FALSE(gpus().devices().empty());
  RecordingLog log;
  telemetry::GpuReader reader(telemetry::open_nvml(setting("ATOLL_GPU_TEST_NVML", kNvmlLibrary)), log);
  std::vector<telemetry::GpuName> names;
  for (const CudaDeviceInfo& gpu : gpus().devices())
    names.push_back({.pci_id = gpu.pci_id, .uuid = gpu.uuid});
  const auto readings = reader.read(names);
  for (const LogRecord& record : log.records()) std::printf("%s\n", record.message.c_str());
  ASSERT_GE(readings.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const CudaDeviceInfo& gpu = gpus().devices()[i];
    const auto mine = std::find_if(readings.begin(), readings.end(), [&](const auto& reading) {
      return reading.uuid.substr(4) == gpu.uuid.substr(4);
    });
    ASSERT_NE(mine, readings.end()) << gpu.uuid;
    if (mine->utilization) {
      EXPECT_LE(*mine->utilization, 1);
    }
    ASSERT_TRUE(mine->memory_total_bytes && mine->memory_used_bytes);
    // CUDA counts without what the driver keeps for itself.
    EXPECT_NEAR(*mine->memory_total_bytes / static_cast<double>(gpu.memory_bytes), 1, 0.05);
    EXPECT_LE(*mine->memory_used_bytes, *mine->memory_total_bytes);
    if (mine->power_watts && mine->power_limit_watts) {
      EXPECT_GT(*mine->power_limit_watts, 0);
      EXPECT_LT(*mine->power_watts, 2 * *mine->power_limit_watts);
    }
  }
}

/// A kernel on a stream of the devices, by the table of functions.
TEST(RealGpu, RunsAKernel) {
  ASSERT_FALSE(gpus().devices().empty());
  const int32_t device = gpus().devices()[0].ordinal;
  std::ifstream file(setting("ATOLL_GPU_TEST_PTX", "bench/gpu/kernels/kernels.ptx"), std::ios::binary);
  const std::string ptx((std::istreambuf_iterator<char>(file)), {});
  ASSERT_FALSE(ptx.empty()) << "run in the root of the tree, or set ATOLL_GPU_TEST_PTX";
  const auto call = [&](Status status) { ASSERT_TRUE(status.ok()) << status.message(); };
  Result<CudaStream> stream = gpus().acquire_stream(device);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  memory::CudaMemory memory(gpus(), {});
  constexpr long long kCount = 100'003;
  std::vector<float> a(kCount), b(kCount), sum(kCount);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i) / 7;
    b[i] = 1.5f - static_cast<float>(i);
  }
  CudaModule module = nullptr;
  CudaFunction function = nullptr;
  call(gpus().call<&CudaDriver::cuModuleLoadDataEx>(device, &module, ptx.c_str(), 0u, nullptr, nullptr));
  call(gpus().call<&CudaDriver::cuModuleGetFunction>(device, &function, module, "vector_add"));
  const auto in_memory = [](std::vector<float>& values) {
    Buffer buffer;
    buffer.data = values.data();
    buffer.size_bytes = values.size() * sizeof(float);
    return buffer;
  };
  std::vector<Buffer> buffers;
  for (std::vector<float>* values : {&a, &b, &sum}) {
    auto buffer = memory.allocate(values->size() * sizeof(float), device);
    ASSERT_TRUE(buffer.ok()) << buffer.status().message();
    buffers.push_back(*buffer);
    call(memory.copy(*buffer, in_memory(*values)));
  }
  CudaAddress addresses[3] = {to_address(buffers[0].data), to_address(buffers[1].data),
                              to_address(buffers[2].data)};
  long long count = kCount;
  void* arguments[] = {&addresses[0], &addresses[1], &addresses[2], &count};
  call(gpus().call<&CudaDriver::cuLaunchKernel>(device, function, 64u, 1u, 1u, 256u, 1u, 1u, 0u, *stream,
                                                arguments, nullptr));
  call(gpus().call<&CudaDriver::cuStreamSynchronize>(device, *stream));
  call(memory.copy(in_memory(sum), buffers[2]));
  for (size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], a[i] + b[i]) << i;
  for (const Buffer& buffer : buffers) memory.free(buffer);
  EXPECT_EQ(memory.used_bytes(), 0u);
  call(gpus().call<&CudaDriver::cuModuleUnload>(device, module));
  gpus().release_stream(device, *stream);
}

/// With the code and words that the backend tells its models' owners.
TEST(RealGpu, RefusesCodeThatIsNone) {
  ASSERT_FALSE(gpus().devices().empty());
  const int32_t device = gpus().devices()[0].ordinal;
  ASSERT_TRUE(gpus().ensure_current(device).ok());
  const auto load = [&](const char* code) {
    CudaModule module = nullptr;
    return gpus().driver().cuModuleLoadDataEx(&module, code, 0, nullptr, nullptr);
  };
  EXPECT_EQ(load(".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry broken( { ret; }\n"),
            CudaResult::INVALID_PTX);
  EXPECT_EQ(load(".version 99.0\n.target sm_75\n.address_size 64\n.visible .entry newer() { ret; }\n"),
            CudaResult::UNSUPPORTED_PTX_VERSION);
}

class MemoryOnRealGpu {
 public:
  explicit MemoryOnRealGpu(uint64_t limit_bytes) : memory(gpus(), {.limit = {limit_bytes, {}}, .kept = {}}) {}
  memory::CudaMemory memory;
};

MemoryProvider real_memory() {
  MemoryProvider provider;
  provider.name = "real";
  provider.make = [](uint64_t limit_bytes) {
    auto made = std::make_shared<MemoryOnRealGpu>(limit_bytes);
    return std::shared_ptr<Memory>(made, &made->memory);
  };
  provider.share = [](uint64_t size_bytes) {
    auto owner = std::make_shared<SharedAllocation>(size_bytes);
    return MemoryProvider::Shared{owner->handle(), owner};
  };
  provider.grows = provider.has_events = true;
  return provider;
}

INSTANTIATE_TEST_SUITE_P(RealGpu, MemoryConformance, ::testing::Values(real_memory()));

}  // namespace
}  // namespace atl::test
