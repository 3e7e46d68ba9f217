// With the real library, which has no CUDA provider.
#include "backends/onnxruntime/gpu_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "atoll/testing/followed_fake.h"
#include "atoll/testing/gpu/listed_gpus.h"
#include "backends/onnxruntime/testing/backend_fixture.h"

namespace atl::ort::test {
namespace {

using testing::HasSubstr;

class GpuSourceTest : public BackendFixture {
 protected:
  /// \param cuda  null: nobody provides GPUs
  void open(Cuda* cuda, std::vector<std::string> libraries = {}) {
    if (cuda != nullptr) host_.registry().publish<Cuda>("cuda", *cuda);
    source_.emplace(host_, std::move(libraries));
    ASSERT_TRUE(source_->open().ok());
    context_.gpus = &*source_;
    backend_.open(context_, defaults_);
  }
  atl::test::FakeHost host_{"onnxruntime"};
  std::optional<GpuSource> source_;
};

TEST_F(GpuSourceTest, WhatTheProviderSaysIsWhyNoModelLoads) {
  atl::test::ListedGpus cuda({CudaDeviceInfo{}});
  open(&cuda);
  const std::string reason = "CUDA execution provider is not enabled in this build.";
  EXPECT_EQ(source_->usable().message(), reason);
  EXPECT_EQ(
      host_.log().count(LogLevel::kWarning, cat("models run on the CPU, though there are GPUs: ", reason)),
      1u);
  write(identity_graph(DataType::kFp32, {kBatch, 2}).file());
  const std::string config = R"(max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 }
    output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 } )";
  EXPECT_EQ(load(config + "instance_group { kind: KIND_GPU gpus: 0 }").message(),
            cat("unable to load model 'm', which has instances of KIND_GPU: ", reason));
  EXPECT_TRUE(load(config).ok());
  ASSERT_EQ(backend_.traits().preferred_groups.size(), 1u);
  EXPECT_EQ(backend_.traits().preferred_groups[0].kind, InstanceKind::kCpu);
}

TEST_F(GpuSourceTest, WithoutGpusNothingIsLoadedAndNothingIsSaid) {
  atl::test::ListedGpus cuda({});
  open(&cuda, {"/nowhere"});
  EXPECT_EQ(source_->usable().message(), "there is no driver");
  EXPECT_EQ(host_.log().count(LogLevel::kWarning, ""), 0u);
}

TEST_F(GpuSourceTest, GpusMayComeAndGo) {
  open(nullptr);
  EXPECT_EQ(source_->usable().message(), "no plugin provides GPUs");
  atl::test::ListedGpus cuda({CudaDeviceInfo{}});
  host_.registry().publish<Cuda>("cuda", cuda);
  atl::test::publish_service_changed(host_, Cuda::kInterfaceId, "cuda");
  EXPECT_THAT(std::string(source_->usable().message()), HasSubstr("not enabled in this build"));
  host_.registry().withdraw(std::string(Cuda::kInterfaceId), "cuda");
  atl::test::publish_service_changed(host_, Cuda::kInterfaceId, "cuda");
  EXPECT_EQ(source_->usable().message(), "no plugin provides GPUs");
}

TEST_F(GpuSourceTest, LibrariesThatAreNotThereAreNamed) {
  atl::test::ListedGpus cuda({CudaDeviceInfo{}});
  open(&cuda, {"/nowhere/cuda"});
  EXPECT_EQ(source_->usable().message(),
            "option cuda_libraries: found '/nowhere/cuda', expected a file or a folder that is there");
}

TEST_F(GpuSourceTest, LibrariesAreLookedForByNameAndVersion) {
  // Of all files of the folder only the one that has the name of a library, and is none.
  for (const char* name :
       {"libcudart.so", "libcudart_static.so.13", "libcublas.so.13.old", "libother.so.1"}) {
    std::ofstream(folder_ / name) << "no library";
  }
  EXPECT_TRUE(open_libraries({folder_.string()}).ok());
  std::ofstream(folder_ / "libcublas.so.13") << "no library";
  const Status status = open_libraries({folder_.string()});
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("libcublas.so.13"));
}

}  // namespace
}  // namespace atl::ort::test
