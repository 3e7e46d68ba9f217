/// Models written by model_writer.h, and one of them loaded over the double of TensorFlow's C calls, or over the library that the
/// environment variable ATOLL_TENSORFLOW_LIBRARY names.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
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
#include "backends/tensorflow/library/tf_library.h"
#include "backends/tensorflow/testing/model_writer.h"
#include "backends/tensorflow/tf_backend.h"
#include "model_config.pb.h"

namespace atl::tensorflow::test {

using atl::test::TestRequest;

inline constexpr int32_t kFloat = 1, kInt32 = 3, kText = 7, kComplex64 = 8;

/// The library that the tests of this process use. TensorFlow's is opened as the plugin would open it.
inline std::string library() {
  const char* const real = std::getenv("ATOLL_TENSORFLOW_LIBRARY");
  if (real != nullptr) quiet_tensorflow();
  return real == nullptr ? ATOLL_TENSORFLOW_DOUBLE : real;
}

inline inference::ModelConfig config_of(const std::string& text) {
  inference::ModelConfig message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  if (message.name().empty()) message.set_name("m");
  if (message.platform().empty()) message.set_platform("tensorflow_savedmodel");
  return message;
}

inline ModelSource source_of(const std::filesystem::path& folder, const inference::ModelConfig& config) {
  ModelSource source;
  source.name = config.name();
  source.version = 1;
  source.model_directory = folder.string();
  source.version_directory = (folder / "1").string();
  source.config = config.SerializeAsString();
  source.model = proto::describe_model(config);
  source.settings = {{"default-max-batch-size", "4"}};
  return source;
}

/// The same with the configuration completed.
inline Result<ModelSource> completed(TfBackend& backend, const ModelSource& source) {
  Result<std::string> config = backend.complete_config(source);
  if (!config.ok()) return std::move(config).status();
  inference::ModelConfig message;
  EXPECT_TRUE(message.ParseFromString(*config));
  ModelSource complete = source;
  complete.config = *config;
  complete.model = proto::describe_model(message);
  return complete;
}

class TensorFlowTest : public ::testing::Test {
 protected:
  TensorFlowTest() { backend_.open({library()}, {}); }

  std::filesystem::path version() const { return folder_.path() / "1"; }
  inference::ModelConfig completed_config(const std::string& config) {
    auto source = completed(backend_, source_of(folder_.path(), config_of(config)));
    EXPECT_TRUE(source.ok()) << source.status().text();
    inference::ModelConfig message;
    if (source.ok()) message.ParseFromString(source->config);
    return message;
  }
  /// Completes and loads. \param config  text of config.pbtxt
  Status load(const std::string& config = "") {
    instance_.reset();
    model_.reset();
    auto source = completed(backend_, source_of(folder_.path(), config_of(config)));
    if (!source.ok()) return std::move(source).status();
    auto model = backend_.load(*source);
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
  void serve(const std::string& config = "") {
    Status status = load(config);
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
  static std::string bytes(const TestRequest& request) {
    const atl::test::ReceivedResponse response = request.response();
    const auto* found = response.find("OUTPUT");
    EXPECT_NE(found, nullptr) << response.message;
    return found == nullptr ? std::string() : found->bytes;
  }
  template <class T>
  static std::vector<T> values(const TestRequest& request) {
    return atl::test::values_of<T>(bytes(request));
  }

  atl::test::TemporaryDirectory folder_;
  atl::test::RecordingLog log_;
  atl::test::RealClock clock_;
  atl::test::RecordingReporter reporter_;
  TfBackend backend_{clock_, log_};
  std::unique_ptr<BackendModel> model_;
  std::unique_ptr<BackendInstance> instance_;
};

}  // namespace atl::tensorflow::test
