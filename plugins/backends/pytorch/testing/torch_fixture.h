/// TorchScript models made from their source text, and one of them loaded.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "atoll/proto/model_description.h"
#include "atoll/testing/fake_clock.h"
#include "atoll/testing/fake_log.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/testing/temporary_directory.h"
#include "atoll/testing/tensor_bytes.h"
#include "backends/pytorch/torch_backend.h"
#include "model_config.pb.h"

namespace atl::pytorch::test {

using atl::test::TestRequest;

/// \param forward  "def forward(self, x): return x"
inline void save_module(const std::string& forward, const std::filesystem::path& path) {
  torch::jit::Module module("m");
  module.define(forward + "\n");
  module.save(path.string());
}

inline ModelSource source_of(const std::filesystem::path& folder, const std::string& name,
                             const std::string& config) {
  inference::ModelConfig message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config, &message)) << config;
  message.set_name(name);
  ModelSource source;
  source.name = name;
  source.version = 1;
  source.model_directory = folder.string();
  source.version_directory = (folder / "1").string();
  source.config = message.SerializeAsString();
  source.model = proto::describe_model(message);
  return source;
}

class TorchTest : public ::testing::Test {
 protected:
  TorchTest() {
    backend_.open(1);
    std::filesystem::create_directories(folder_.path() / "1");
  }

  std::filesystem::path model_path() const { return folder_.path() / "1" / "model.pt"; }
  Status load(const std::string& forward, const std::string& config) {
    if (!forward.empty()) save_module(forward, model_path());
    instance_.reset();
    model_.reset();
    auto model = backend_.load(source_of(folder_.path(), "m", config));
    if (!model.ok()) return std::move(model).status();
    model_ = std::move(model).value();
    return {};
  }
  Result<std::unique_ptr<BackendInstance>> make_instance(InstanceKind kind = InstanceKind::kCpu) {
    InstanceSpec spec;
    spec.name = "m_0";
    spec.kind = kind;
    spec.reporter = &reporter_;
    return model_->create_instance(spec);
  }
  void serve(const std::string& forward, const std::string& config) {
    Status status = load(forward, config);
    ASSERT_TRUE(status.ok()) << status.text();
    auto instance = make_instance();
    ASSERT_TRUE(instance.ok()) << instance.status().text();
    instance_ = std::move(instance).value();
  }
  /// Executes the requests as one batch and expects that every one is answered as the contract says.
  void execute(const std::vector<TestRequest*>& requests) {
    ASSERT_NE(instance_, nullptr);
    std::vector<Request*> raw;
    Batch batch;
    for (TestRequest* request : requests) {
      request->mark_accepted();
      raw.push_back(&request->request());
      batch.total_batch_size += raw.back()->batch_weight();
    }
    batch.requests = raw;
    const Status status = instance_->execute(batch);
    ASSERT_TRUE(status.ok()) << status.text();
    for (TestRequest* request : requests) {
      EXPECT_TRUE(request->done());
      EXPECT_EQ(request->problems(), std::vector<std::string>());
    }
  }
  template <class T>
  static std::vector<T> values(const TestRequest& request, const std::string& output = "OUTPUT__0") {
    const atl::test::ReceivedResponse response = request.response();
    const auto* found = response.find(output);
    EXPECT_NE(found, nullptr) << response.message;
    return found == nullptr ? std::vector<T>() : atl::test::values_of<T>(found->bytes);
  }

  atl::test::TemporaryDirectory folder_;
  atl::test::RecordingLog log_;
  atl::test::RealClock clock_;
  atl::test::RecordingReporter reporter_;
  TorchBackend backend_{clock_, log_};
  std::unique_ptr<BackendModel> model_;
  std::unique_ptr<BackendInstance> instance_;
};

/// "input { name: 'A' data_type: TYPE_FP32 dims: 2 }"
inline std::string tensor(const std::string& list, const std::string& name, const std::string& type = "FP32",
                          const std::string& more = "dims: 2") {
  return cat(list, " { name: '", name, "' data_type: TYPE_", type, " ", more, " } ");
}

}  // namespace atl::pytorch::test
