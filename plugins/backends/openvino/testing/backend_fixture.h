/// A backend on the double, a folder for models, and what a test wants to say about them.
#pragma once

#include <dlfcn.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "atoll/proto/model_description.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/testing/temporary_directory.h"
#include "backends/openvino/openvino_backend.h"
#include "backends/openvino/testing/double_counts.h"
#include "model_config.pb.h"

namespace atl::openvino::test {

using atl::test::FakeHost;
using atl::test::RecordingReporter;
using atl::test::TemporaryDirectory;
using atl::test::TestRequest;

inline constexpr char kAddModel[] =
    "<net>\ninput INPUT0 4 -1,3\ninput INPUT1 4 -1,3\noutput OUTPUT0 4 -1,3\nop add\n</net>\n";
inline constexpr char kAddConfig[] = R"(max_batch_size: 4
    input { name: 'INPUT0' data_type: TYPE_FP32 dims: 3 } input { name: 'INPUT1' data_type: TYPE_FP32 dims: 3 }
    output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 3 })";

#ifdef ATOLL_OPENVINO_DOUBLE
inline OvDoubleCounts counts() {
  // The double is open already, so that this is the same one.
  void* const library = ::dlopen(ATOLL_OPENVINO_DOUBLE, RTLD_NOW | RTLD_LOCAL);
  const auto count = reinterpret_cast<decltype(&ov_double_counts)>(::dlsym(library, "ov_double_counts"));
  OvDoubleCounts result = {};
  if (count != nullptr) count(&result);
  if (library != nullptr) ::dlclose(library);
  return result;
}

inline OvBackendSettings settings_on_double(uint32_t threads = 2) {
  OvBackendSettings settings;
  settings.places.option = ATOLL_OPENVINO_DOUBLE;
  settings.defaults.threads = threads;
  return settings;
}
#endif

/// Writes <folder>/<name>/1/<file>.
inline ModelSource write_model(const std::filesystem::path& folder, const std::string& name,
                               const std::string& model, const std::string& config,
                               const std::string& file = "model.xml") {
  const auto version = folder / name / "1";
  std::filesystem::create_directories(version);
  std::ofstream(version / file, std::ios::binary) << model;
  inference::ModelConfig parsed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(cat("name: '", name, "' ", config), &parsed))
      << config;
  ModelSource source;
  source.name = name;
  source.version = 1;
  source.model_directory = (folder / name).string();
  source.version_directory = version.string();
  source.config = parsed.SerializeAsString();
  source.model = proto::describe_model(parsed);
  source.settings = {{"default-max-batch-size", "4"}};
  return source;
}

class OpenVinoTest : public ::testing::Test {
 protected:
#ifdef ATOLL_OPENVINO_DOUBLE
  void SetUp() override { backend_.set(settings_on_double()); }
#endif

  ModelSource source(const std::string& model, const std::string& config,
                     const std::string& file = "model.xml") {
    return write_model(folder_.path(), "m", model, config, file);
  }
  Status load(const std::string& model, const std::string& config, const std::string& file = "model.xml") {
    instance_.reset();
    auto loaded = backend_.load(source(model, config, file));
    if (!loaded.ok()) return std::move(loaded).status();
    model_ = std::move(loaded).value();
    instance_ = make_instance();
    return {};
  }
  std::unique_ptr<BackendInstance> make_instance() {
    InstanceSpec spec;
    spec.name = "m_0";
    spec.reporter = &reporter_;
    auto instance = model_->create_instance(spec);
    EXPECT_TRUE(instance.ok()) << instance.status().text();
    return instance.ok() ? std::move(instance).value() : nullptr;
  }
  /// The configuration completed, as text; the error's text if that fails.
  std::string completed(const std::string& model, const std::string& config,
                        const std::string& file = "model.xml") {
    auto bytes = backend_.complete_config(source(model, config, file));
    if (!bytes.ok()) return bytes.status().text();
    inference::ModelConfig parsed;
    parsed.ParseFromString(*bytes);
    return parsed.ShortDebugString();
  }
  void execute(const std::vector<TestRequest*>& requests) {
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

  TemporaryDirectory folder_;
  FakeHost host_{"openvino", FakeHost::Threads::kReal};
  RecordingReporter reporter_;
  OpenVinoBackend backend_{host_};
  std::unique_ptr<BackendModel> model_;
  std::unique_ptr<BackendInstance> instance_;
};

}  // namespace atl::openvino::test
