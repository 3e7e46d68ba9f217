// With libraries that come, are too old, and go.
#include "backends/onnxruntime/onnx_engine.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include <cstdlib>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/gpu/listed_gpus.h"
#include "backends/onnxruntime/ort_api.h"
#include "backends/onnxruntime/testing/library_folders.h"
#include "backends/onnxruntime/testing/onnx_graph.h"
#include "model_config.pb.h"

namespace atl::ort::test {
namespace {

using testing::StartsWith;

class OnnxEngineTest : public testing::Test {
 protected:
  OnnxEngineTest() {
    host_.options()
        .set_int("intra_op_threads", 1)
        .set_int("inter_op_threads", 1)
        .set_bool("allow_spinning", false);
    host_.options().set_bytes("scratch_keep", 1024).set_string("log_level", "warning");
    host_.options().set_strings("cuda_libraries", {});
    name_library("");
    std::ofstream(folders_.path() / "model.onnx", std::ios::binary)
        << OnnxGraph(identity_graph(DataType::kFp32, {kBatch, 2})).file();
  }
  void name_library(const std::string& file) { host_.options().set_string("library", file); }
  Status start() { return engine_.start(folders_.places()); }
  ModelSource source(bool is_complete) const {
    inference::ModelConfig config;
    config.set_name("m");
    config.set_backend("onnxruntime");
    if (is_complete) {
      EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
          R"(max_batch_size: 4 input { name: "INPUT0" data_type: TYPE_FP32 dims: 2 }
             output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 2 } instance_group { kind: KIND_CPU count: 1 })",
          &config));
    }
    ModelSource source;
    source.name = "m";
    source.version_directory = source.model_directory = folders_.path();
    source.config = config.SerializeAsString();
    return source;
  }
  Status load() { return engine_.load(source(true)).status().clone(); }

  LibraryFolders folders_;
  atl::test::FakeHost host_{"onnxruntime", atl::test::FakeHost::Threads::kReal};
  OnnxEngine engine_{host_};
};

TEST_F(OnnxEngineTest, WithoutALibraryTheServerStartsAndLoadsSayWhatToDo) {
  ASSERT_TRUE(start().ok());
  const std::string reason =
      cat("no ONNX Runtime can be used: there is none in ", folders_.engine().string(),
          "; to get one: pip install 'onnxruntime>=1.21', or set the option library of backends/onnxruntime");
  EXPECT_EQ(host_.log().count(LogLevel::kWarning, cat("its models will not load: ", reason)), 1u);
  ASSERT_EQ(engine_.traits().preferred_groups.size(), 1u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(load().message(), reason);
    EXPECT_EQ(engine_.complete_config(source(false)).status().message(), reason);
  }
  EXPECT_EQ(host_.log().count(LogLevel::kWarning), 1u) << "of a load the client is told";
  engine_.stop();
}

TEST_F(OnnxEngineTest, WhatIsInstalledLaterServesTheNextLoad) {
  ASSERT_TRUE(start().ok());
  EXPECT_FALSE(load().ok());
  const std::string file = folders_.put_real(folders_.capi());
  EXPECT_TRUE(load().ok()) << load().text();
  EXPECT_EQ(host_.log().count(LogLevel::kInfo, "models run with ONNX Runtime 1."), 1u);
  EXPECT_EQ(host_.log().count(LogLevel::kInfo, " of " + file), 1u);
  EXPECT_TRUE(engine_.complete_config(source(false)).ok());
  engine_.stop();
}

TEST_F(OnnxEngineTest, WhatIsPassedOverIsTold) {
  const std::string old = folders_.put(folders_.capi(), "1.19.2"),
                    file = folders_.put_real(folders_.engine());
  for (int restart = 0; restart < 2; ++restart) {
    host_.log().clear();
    ASSERT_TRUE(start().ok());
    EXPECT_EQ(
        host_.log().count(LogLevel::kWarning,
                          cat("passed over: ", old, ": found ONNX Runtime 1.19.2, expected 1.21 or newer")),
        1u);
    EXPECT_EQ(host_.log().count(LogLevel::kInfo, " of " + file), 1u);
    EXPECT_TRUE(load().ok());
    engine_.stop();
  }
}

TEST_F(OnnxEngineTest, ALibraryThatIsNamedHasToFit) {
  folders_.put_real(folders_.engine());
  const std::string old = folders_.put(folders_.path(), "1.19.2");
  name_library(old);
  const Status status = start();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), StartsWith("option library: "));
  EXPECT_EQ(runtime_usable().code(), Code::kFailedPrecondition) << "nothing stays behind";
  name_library(folders_.put_real(folders_.path(), "1.31.1"));
  ASSERT_TRUE(start().ok());
  EXPECT_TRUE(load().ok());
  engine_.stop();
}

TEST_F(OnnxEngineTest, GpusAreLookedAtWhenTheLibraryHasCome) {
  const auto run = [this] {
    atl::test::ListedGpus cuda({CudaDeviceInfo{}});
    host_.registry().publish<Cuda>("cuda", cuda);
    const bool started = start().ok();
    const size_t before =
        host_.log().count(LogLevel::kWarning, "models run on the CPU, though there are GPUs");
    folders_.put_real(folders_.engine());
    const bool loaded = load().ok();
    const size_t after = host_.log().count(LogLevel::kWarning, "not enabled in this build");
    engine_.stop();
    std::filesystem::remove_all(folders_.path());
    std::_Exit(started && loaded && before == 0 && after == 1 ? 0 : 1);
  };
  // In a process of its own, which begins anew: a library that was asked for a provider stays open.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace atl::ort::test
