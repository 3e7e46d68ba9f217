/// A backend with an environment, a folder for models, and what a test wants to say about them.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "atoll/testing/fake_log.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/testing/thread_executor.h"
#include "backends/onnxruntime/onnx_backend.h"
#include "backends/onnxruntime/testing/library_in_use.h"
#include "backends/onnxruntime/testing/onnx_graph.h"
#include "model_config.pb.h"

namespace atl::ort::test {

using atl::test::RealClock;
using atl::test::RecordingLog;
using atl::test::RecordingReporter;
using atl::test::TestRequest;

inline inference::ModelConfig config_of(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  if (config.name().empty()) config.set_name("m");
  return config;
}

class BackendFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "atoll-onnx-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::filesystem::create_directories(version_folder());
    ASSERT_NO_FATAL_FAILURE(use_library());
    auto environment = Environment::open(log_, ORT_LOGGING_LEVEL_WARNING, threads_);
    ASSERT_TRUE(environment.ok()) << environment.status().text();
    environment_ = std::move(environment).value();
    context_.environment = environment_.get();
    context_.clock = &clock_;
    context_.scratch_keep_bytes = 1 << 20;
    backend_.open(context_, defaults_);
  }
  void TearDown() override {
    instance_.reset();
    model_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::filesystem::path version_folder() const { return folder_ / "1"; }
  std::filesystem::path model_path() const { return version_folder() / "model.onnx"; }
  void write(const std::string& bytes) const { std::ofstream(model_path(), std::ios::binary) << bytes; }

  ModelSource source(const std::string& config) const {
    ModelSource source;
    source.name = "m";
    source.version = 1;
    source.model_directory = folder_.string();
    source.version_directory = version_folder().string();
    source.config = config_of(config).SerializeAsString();
    source.settings = {{"default-max-batch-size", "4"}};
    return source;
  }
  Status load(const std::string& config) {
    instance_.reset();
    auto model = backend_.load(source(config));
    if (!model.ok()) return std::move(model).status();
    model_ = std::move(model).value();
    return {};
  }
  Status make_instance() {
    InstanceSpec spec;
    spec.name = "m_0";
    spec.reporter = &reporter_;
    auto instance = model_->create_instance(spec);
    if (!instance.ok()) return std::move(instance).status();
    instance_ = std::move(instance).value();
    return {};
  }
  void serve(const OnnxGraph& graph, const std::string& config) {
    write(graph.file());
    Status status = load(config);
    ASSERT_TRUE(status.ok()) << status.text();
    status = make_instance();
    ASSERT_TRUE(status.ok()) << status.text();
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
    Status status = instance_->execute(batch);
    ASSERT_TRUE(status.ok()) << status.text();
    for (TestRequest* request : requests) {
      EXPECT_TRUE(request->done());
      EXPECT_EQ(request->problems(), std::vector<std::string>());
    }
  }

  std::filesystem::path folder_;
  RecordingLog log_;
  RealClock clock_;
  RecordingReporter reporter_;
  BackendContext context_;
  SessionDefaults defaults_{1, 1, 1, false};
  atl::test::ThreadExecutors threads_;
  std::unique_ptr<Environment> environment_;
  OnnxBackend backend_;
  std::unique_ptr<BackendModel> model_;
  std::unique_ptr<BackendInstance> instance_;
};

/// One output of a successful response; a failure and an empty one if it is not there.
inline atl::test::ReceivedOutput output_in(const atl::test::ReceivedResponse& response,
                                           std::string_view name) {
  EXPECT_EQ(response.code, Code::kOk) << response.message;
  const auto* output = response.find(name);
  EXPECT_NE(output, nullptr) << name;
  return output == nullptr ? atl::test::ReceivedOutput() : *output;
}
inline std::string output_bytes(const TestRequest& request, std::string_view name) {
  return output_in(request.response(), name).bytes;
}
inline std::vector<int64_t> output_shape(const TestRequest& request, std::string_view name) {
  return output_in(request.response(), name).shape;
}
template <class T>
std::vector<T> values_in(const atl::test::ReceivedResponse& response, std::string_view name) {
  return atl::test::values_of<T>(output_in(response, name).bytes);
}

}  // namespace atl::ort::test
