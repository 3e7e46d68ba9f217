/// The backend on devices of the driver's test double, with kernels that are C++ functions.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "atoll/proto/model_description.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/testing/temporary_directory.h"
#include "backends/cuda/backend_context.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/testing/gpus.h"
#include "model_config.pb.h"

namespace atl::cuda_backend::test {

using namespace atl::test;  // NOLINT: what all tests of the backend are made of

/// What the double reads of kernels: their names and parameters.
inline constexpr const char* kPtx = R"(
.version 8.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 scale_0, .param .u64 scale_1, .param .u32 scale_2, .param .f32 scale_3) { ret; }
.visible .entry add(.param .u64 add_0, .param .u64 add_1, .param .u64 add_2, .param .u32 add_3) { ret; }
.visible .entry copy_bytes(.param .u64 copy_0, .param .u64 copy_1, .param .u64 copy_2) { ret; }
.visible .entry sum_segments(.param .u64 sum_0, .param .u64 sum_1, .param .u64 sum_2, .param .u32 sum_3) { ret; }
.visible .entry fault_on_minus_one(.param .u64 fault_0, .param .u64 fault_1, .param .u32 fault_2) { ret; }
)";

inline CudaResult scale_kernel(const CudaDoubleLaunch& launch) {
  const auto count = launch.argument<uint32_t>(2);
  const auto* from = launch.array<float>(0, count);
  auto* to = launch.array<float>(1, count);
  if (from == nullptr || to == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  for (uint32_t i = 0; i < count; ++i) to[i] = from[i] * launch.argument<float>(3);
  return CudaResult::SUCCESS;
}
inline CudaResult add_kernel(const CudaDoubleLaunch& launch) {
  const auto count = launch.argument<uint32_t>(3);
  const auto *a = launch.array<float>(0, count), *b = launch.array<float>(1, count);
  auto* to = launch.array<float>(2, count);
  if (a == nullptr || b == nullptr || to == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  for (uint32_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
  return CudaResult::SUCCESS;
}
inline CudaResult copy_kernel(const CudaDoubleLaunch& launch) {
  const auto bytes = launch.argument<uint64_t>(2);
  const auto* from = launch.array<char>(0, bytes);
  auto* to = launch.array<char>(1, bytes);
  if (from == nullptr || to == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  std::memcpy(to, from, bytes);
  return CudaResult::SUCCESS;
}
/// Values, where each row of them begins and the last ends, sums.
inline CudaResult sum_kernel(const CudaDoubleLaunch& launch) {
  const auto rows = launch.argument<uint32_t>(3);
  const auto* begins = launch.array<int32_t>(1, rows + 1);
  auto* sums = launch.array<float>(2, rows);
  if (begins == nullptr || sums == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  for (uint32_t row = 0; row < rows; ++row) {
    sums[row] = 0;
    const auto end = static_cast<size_t>(begins[row + 1]);
    const auto* values = launch.array<float>(0, end);
    if (values == nullptr && end != 0) return CudaResult::ILLEGAL_ADDRESS;
    for (auto i = static_cast<size_t>(begins[row]); i < end; ++i) sums[row] += values[i];
  }
  return CudaResult::SUCCESS;
}
inline CudaResult fault_kernel(const CudaDoubleLaunch& launch) {
  const auto count = launch.argument<uint32_t>(2);
  const auto* from = launch.array<float>(0, count);
  auto* to = launch.array<float>(1, count);
  if (from == nullptr || to == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  for (uint32_t i = 0; i < count; ++i) {
    if (from[i] == -1.0F) return CudaResult::ILLEGAL_ADDRESS;
    to[i] = from[i];
  }
  return CudaResult::SUCCESS;
}

inline void register_kernels() {
  const CudaDouble& driver = Gpus::driver();
  driver.register_kernel("scale", scale_kernel);
  driver.register_kernel("add", add_kernel);
  driver.register_kernel("copy_bytes", copy_kernel);
  driver.register_kernel("sum_segments", sum_kernel);
  driver.register_kernel("fault_on_minus_one", fault_kernel);
}

/// A model: INPUT0 [4] times 2 is OUTPUT0.
inline constexpr const char* kScaleConfig = R"(max_batch_size: 4
  input { name: 'INPUT0' data_type: TYPE_FP32 dims: 4 } output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 4 } )";
inline constexpr const char* kScalePipeline = R"toml(
pad_batch = true
[[step]]
kernel = "scale"
grid = ["ceil_div(INPUT0.count, 128)"]
block = [128]
args = ["in:INPUT0", "out:OUTPUT0", "u32:INPUT0.count", "f32:2.0"]
)toml";
/// Any bytes, which come back. For a configuration without batches.
inline constexpr const char* kCopyPipeline = R"(
[output.OUTPUT0]
shape = ["INPUT0.shape[0]"]
[[step]]
kernel = "copy_bytes"
grid = ["INPUT0.bytes"]
block = [1]
args = ["in:INPUT0", "out:OUTPUT0", "u64:INPUT0.bytes"]
)";
inline constexpr const char* kCopyConfig = R"(
  input { name: 'INPUT0' data_type: TYPE_UINT8 dims: -1 } output { name: 'OUTPUT0' data_type: TYPE_UINT8 dims: -1 } )";

/// Models' files, removed at the end.
class ModelFiles {
 public:
  ModelSource add(const std::string& name, const std::string& config, const std::string& pipeline) {
    const auto version = folder_.path() / name / "1";
    std::filesystem::create_directories(version);
    std::ofstream(version / "kernels.ptx") << kPtx;
    std::ofstream(version / "pipeline.toml") << pipeline;
    inference::ModelConfig parsed;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config, &parsed)) << config;
    parsed.set_name(name);
    parsed.set_backend("cuda");
    ModelSource source;
    source.name = name;
    source.version = 1;
    source.model_directory = (folder_.path() / name).string();
    source.version_directory = version.string();
    source.config = parsed.SerializeAsString();
    source.model = proto::describe_model(parsed);
    return source;
  }

 private:
  TemporaryDirectory folder_;
};

/// All that a backend needs, in the order in which it goes.
class GpuBench {
 public:
  explicit GpuBench(const GpuSetup& setup = {})
      : gpus(setup), cuda(gpus.cuda()), memory(gpus.memory()), pinned(gpus.pinned()) {
    register_kernels();
    host.registry().publish<Memory>("cuda", memory, 0, Memory::kGrowableMinor);
    host.registry().publish<Memory>("pinned", pinned, 0, Memory::kGrowableMinor);
    device_memory.emplace(host, memory_finder(host, MemoryKind::kGpu));
    pinned_memory.emplace(host, memory_finder(host, MemoryKind::kCpuPinned));
    EXPECT_TRUE(device_memory->open().ok() && pinned_memory->open().ok());
    CudaBackendContext context;
    context.cuda = &cuda;
    context.clock = &host.clock();
    context.log = &host.log();
    context.device_memory = &*device_memory;
    context.pinned_memory = &*pinned_memory;
    backend.open(context);
  }
  GpuBench(const GpuBench&) = delete;
  GpuBench& operator=(const GpuBench&) = delete;
  ~GpuBench() {
    instance.reset();
    model.reset();
    pinned_memory->close();
    device_memory->close();
  }

  const CudaDouble& driver() noexcept { return Gpus::driver(); }

  /// Replaces `model` and `instance`.
  Status load(const ModelSource& source, int32_t device = 0) {
    instance.reset();
    model.reset();
    auto loaded = backend.load(source);
    if (!loaded.ok()) return std::move(loaded).status();
    model = std::move(loaded).value();
    auto made = make_instance(device);
    if (!made.ok()) return std::move(made).status();
    instance = std::move(made).value();
    return {};
  }
  Result<std::unique_ptr<BackendInstance>> make_instance(int32_t device = 0,
                                                         InstanceKind kind = InstanceKind::kGpu) {
    InstanceSpec spec;
    spec.name = "test_0";
    spec.kind = kind;
    spec.device_id = device;
    spec.reporter = &reporter;
    return model->create_instance(spec);
  }
  /// Gives the requests to the instance as one batch.
  Status execute(const std::vector<TestRequest*>& requests) {
    std::vector<Request*> pointers;
    Batch batch;
    for (TestRequest* request : requests) {
      request->mark_accepted();
      pointers.push_back(&request->request());
      batch.total_batch_size += request->request().batch_weight();
    }
    batch.requests = pointers;
    Status status = instance->execute(batch);
    if (status.ok()) return status;
    for (TestRequest* request : requests) fail_request(request->request(), status.clone());
    return status;
  }
  /// The same, and waits for the answers.
  Status run(const std::vector<TestRequest*>& requests) {
    Status status = execute(requests);
    for (TestRequest* request : requests) EXPECT_TRUE(request->wait_done());
    return status;
  }

  Gpus gpus;
  FakeHost host{"kernels", FakeHost::Threads::kReal};
  Cuda& cuda;
  Memory& memory;
  Memory& pinned;
  std::optional<Followed<Memory>> device_memory, pinned_memory;
  RecordingReporter reporter;
  CudaBackend backend;
  std::unique_ptr<BackendModel> model;
  std::unique_ptr<BackendInstance> instance;
};

inline std::vector<float> floats_of(const ReceivedResponse& response, std::string_view name = "OUTPUT0") {
  const ReceivedOutput* output = response.find(name);
  if (output == nullptr) return {};
  std::vector<float> values(output->bytes.size() / sizeof(float));
  std::memcpy(values.data(), output->bytes.data(), values.size() * sizeof(float));
  return values;
}

/// A request to the model of kScaleConfig: `rows` rows of 4 values from `first` on.
inline void fill_scale(TestRequest& request, float first, uint32_t rows = 1) {
  std::vector<float> values(4 * rows);
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  request->batch_size = rows;
  request.add_input("INPUT0", DataType::kFp32, {rows, 4}, values);
  request.add_output("OUTPUT0");
}
inline std::vector<float> scaled(float first, uint32_t rows = 1) {
  std::vector<float> values(4 * rows);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 2 * (first + static_cast<float>(i));
  return values;
}

inline void expect_clean(const TestRequest& request) {
  for (const std::string& problem : request.problems()) ADD_FAILURE() << problem;
}

}  // namespace atl::cuda_backend::test
