#include "atoll/testing/plugin_runner.h"
#include "backends/cuda/testing/gpu_bench.h"

namespace atl::cuda_backend {
namespace {

using namespace test;  // NOLINT

TEST(CudaBackendPlugin, LoadsModelsWithTheServicesThatThereAre) {
  Gpus gpus;
  register_kernels();
  memory::CudaMemory device_memory(gpus.devices(), {});
  FakeHost host("cuda", FakeHost::Threads::kReal);
  host.registry().publish<Cuda>("cuda", gpus.devices());
  host.registry().publish<Memory>("cuda", device_memory, 0, Memory::kGrowableMinor);
  ModelFiles files;
  PluginRunner plugin(host);
  ASSERT_TRUE(plugin.create_and_start().ok());
  auto* backend = plugin.query<Backend>();
  ASSERT_NE(backend, nullptr);
  {
    auto model = backend->load(files.add("scale", kScaleConfig, kScalePipeline));
    ASSERT_TRUE(model.ok()) << model.status().text();
    InstanceSpec spec;
    spec.kind = InstanceKind::kGpu;
    auto instance = (*model)->create_instance(spec);
    ASSERT_TRUE(instance.ok()) << instance.status().text();
    EXPECT_GT(device_memory.used_bytes(), 0u);
  }
  EXPECT_EQ(device_memory.used_bytes(), 0u);
  plugin.stop();
  EXPECT_EQ(host.registry().holders(), 0u);
}

TEST(CudaBackendPlugin, WithoutGpusModelsSayWhy) {
  FakeHost host("cuda");
  memory::Devices none(host);
  none.open(memory::open_driver("/nowhere/libcuda.so.1"), {});
  host.registry().publish<Cuda>("cuda", none);
  ModelFiles files;
  PluginRunner plugin(host);
  ASSERT_TRUE(plugin.create_and_start().ok());
  auto model = plugin.query<Backend>()->load(files.add("scale", kScaleConfig, kScalePipeline));
  ASSERT_TRUE(model.ok()) << model.status().text();
  InstanceSpec spec;
  spec.name = "scale_0";
  EXPECT_EQ(
      (*model)->create_instance(spec).status().message(),
      "instance 'scale_0': found KIND_CPU, expected KIND_GPU: this backend runs kernels on GPUs; there is none: there "
      "is no CUDA driver: /nowhere/libcuda.so.1: cannot open shared object file: No such file or directory");
  spec.kind = InstanceKind::kGpu;
  EXPECT_EQ((*model)->create_instance(spec).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace atl::cuda_backend
