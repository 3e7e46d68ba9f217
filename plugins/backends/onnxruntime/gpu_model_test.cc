// Sessions on GPUs: what they are made with, how many there are, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/onnxruntime/testing/gpu_fixture.h"

namespace atl::ort::test {
namespace {

using testing::HasSubstr;

class GpuModelTest : public GpuFixture {
 protected:
  void SetUp() override {
    GpuFixture::SetUp();
    write(add_sub_graph().file());
  }
  static std::string sessions() { return ort_double().sessions(); }
};

constexpr char kOneStream[] = " use_ep_level_unified_stream=1\n";

TEST_F(GpuModelTest, EachInstanceHasASession) {
  ASSERT_TRUE(load(cat(kAddSubConfig, kGroup)).ok());
  EXPECT_EQ(sessions(), cat("session device_id=0", kOneStream)) << "the first one is that of the load";
  ASSERT_TRUE(make_gpu_instance(0).ok());
  EXPECT_EQ(sessions(), cat("session device_id=0", kOneStream));
  auto first = std::move(instance_);
  ASSERT_TRUE(make_gpu_instance(1).ok());
  auto second = std::move(instance_);
  ASSERT_TRUE(make_gpu_instance(1).ok());
  const std::string on_second = cat("session device_id=1", kOneStream);
  EXPECT_EQ(sessions(), cat("session device_id=0", kOneStream, on_second, on_second));
  const uint64_t size = add_sub_graph().file().size();
  const auto usage = model_->memory_usage();
  ASSERT_EQ(usage.size(), 2u);
  EXPECT_EQ(usage[0].kind, MemoryKind::kGpu);
  EXPECT_EQ(usage[0].device_id, 0);
  EXPECT_EQ(usage[0].size_bytes, size);
  EXPECT_EQ(usage[1].device_id, 1);
  EXPECT_EQ(usage[1].size_bytes, 2 * size);
}

TEST_F(GpuModelTest, ThoseOnTheCpuHaveTheirOwn) {
  ASSERT_TRUE(load(cat(kAddSubConfig, kGroup, " instance_group { kind: KIND_CPU }")).ok());
  EXPECT_EQ(sessions(), "");
  ASSERT_TRUE(make_instance().ok());
  EXPECT_EQ(sessions(), "");
  ASSERT_TRUE(make_gpu_instance(1).ok());
  EXPECT_EQ(sessions(), cat("session device_id=1", kOneStream));
  ASSERT_EQ(model_->memory_usage().size(), 2u);
  EXPECT_EQ(model_->memory_usage()[0].kind, MemoryKind::kCpu);
  EXPECT_EQ(model_->memory_usage()[1].kind, MemoryKind::kGpu);
}

TEST_F(GpuModelTest, OptionsReachTheProvider) {
  ASSERT_TRUE(load(cat(kAddSubConfig, kGroup, R"(
    parameters { key: 'gpu_mem_limit' value { string_value: '1000000' } }
    optimization { execution_accelerators { gpu_execution_accelerator { name: 'cuda'
      parameters { key: 'cudnn_conv_algo_search' value: '1' } } } })"))
                  .ok());
  EXPECT_EQ(sessions(),
            cat("session cudnn_conv_algo_search=HEURISTIC device_id=0 gpu_mem_limit=1000000", kOneStream));
}

TEST_F(GpuModelTest, AcceleratorsThatAreNotThereAreRefused) {
  const auto with = [](const char* name) {
    return cat(kAddSubConfig, kGroup,
               "optimization { execution_accelerators { gpu_execution_accelerator { name: '", name,
               "' } } }");
  };
  EXPECT_EQ(
      load(with("tensorrt")).message(),
      "gpu_execution_accelerator 'tensorrt': TensorRT execution provider is not enabled in this build.");
  EXPECT_EQ(load(with("auto")).message(), "unknown Execution Accelerator 'auto' is requested");
}

TEST_F(GpuModelTest, GpusAreWhereModelsWouldRatherRun) {
  const BackendTraits traits = backend_.traits();
  ASSERT_EQ(traits.preferred_groups.size(), 2u);
  EXPECT_EQ(traits.preferred_groups[0].kind, InstanceKind::kGpu);
  EXPECT_EQ(traits.preferred_groups[1].kind, InstanceKind::kCpu);
}

TEST_F(GpuModelTest, ADeviceThatIsNotThereIsTheInstancesFailure) {
  ASSERT_TRUE(load(cat(kAddSubConfig, kGroup)).ok());
  const Status status = make_gpu_instance(7);
  EXPECT_THAT(std::string(status.message()), HasSubstr("model file '"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("invalid device ordinal"));
}

TEST_F(GpuModelTest, GpusThatGoTakeTheirInstancesWithThem) {
  ASSERT_TRUE(load(cat(kAddSubConfig, kGroup)).ok());
  ASSERT_TRUE(make_gpu_instance().ok());
  EXPECT_TRUE(instance_->ready());
  host_.registry().withdraw(std::string(Cuda::kInterfaceId), "cuda");
  atl::test::publish_service_changed(host_, Cuda::kInterfaceId, "cuda");
  EXPECT_FALSE(instance_->ready());
  EXPECT_EQ(instance_->unready_reason(), "GPU 0 is gone: no plugin provides it any more");
  EXPECT_EQ(make_gpu_instance().message(), "instance 'm_0' is of KIND_GPU: no plugin provides GPUs");
}

}  // namespace
}  // namespace atl::ort::test
