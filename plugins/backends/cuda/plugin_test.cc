#include "atoll/testing/plugin_runner.h"
#include "backends/cuda/testing/gpu_bench.h"

namespace atl::cuda_backend {
namespace {

using namespace test;  // NOLINT

TEST(CudaBackendPlugin, LoadsModelsWithTheServicesThatThereAre) {
  Gpus gpus;
  register_kernels();
  FakeHost host("cuda", FakeHost::Threads::kReal);
  host.registry().publish<Cuda>("cuda", gpus.cuda());
  host.registry().publish<Memory>("cuda", gpus.memory(), 0, Memory::kGrowableMinor);
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
    EXPECT_GT(gpus.memory().used_bytes(), 0u);
  }
  EXPECT_EQ(gpus.memory().used_bytes(), 0u);
  plugin.stop();
  EXPECT_EQ(host.registry().holders(), 0u);
}

TEST(CudaBackendPlugin, WithoutGpusModelsSayWhy) {
  FakeHost host("kernels"), cuda_host("cuda");
  LoadedPlugin none(cuda_host, ATOLL_CUDA_MEMORY_PLUGIN, {{"library", "/nowhere/libcuda.so.1"}});
  host.registry().publish<Cuda>("cuda", none.query<Cuda>());
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
