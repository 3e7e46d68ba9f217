/// Life cycle and misuse, by a backend that does what names say.
#include "backends/triton/triton_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/testing/temporary_directory.h"
#include "backends/triton/testing/triton_bench.h"

namespace atl::triton {
namespace {

using testing::HasSubstr;

/// Folders of backends, each a copy of the fixture, so that each has its own globals.
class TritonBackendTest : public testing::Test {
 protected:
  TritonBackendTest() {
    spec_.name = "i_0";
    spec_.reporter = &reporter_;
    add_backend("b");
  }
  ~TritonBackendTest() override { parts_.reset(); }

  std::string file_of(const std::string& backend) const {
    return (folder_.path() / backend / cat("libtriton_", backend, ".so")).string();
  }
  void add_backend(const std::string& backend, const std::string& fixture = "scripted") {
    namespace fs = std::filesystem;
    fs::create_directories(folder_.path() / backend);
    fs::copy_file(cat(ATOLL_FIXTURE_BACKENDS, "/", fixture, "/libtriton_", fixture, ".so"), file_of(backend));
  }
  /// What was called since the last time.
  std::string calls(const std::string& backend = "b") {
    auto object = runtime::SharedObject::open(file_of(backend));
    if (!object.ok()) return object.status().text();
    kept_.push_back(std::move(object).value());
    std::string all = reinterpret_cast<const char* (*)()>(kept_.back().symbol("scripted_calls"))();
    reinterpret_cast<void (*)()>(kept_.back().symbol("scripted_forget"))();
    return all;
  }
  std::string failure_of(const std::string& model, const std::string& backend = "b") {
    auto loaded = parts_->backend.load(source_of(model, backend));
    if (!loaded.ok()) return loaded.status().text();
    auto instance = (*loaded)->create_instance(spec_);
    return instance.ok() ? "OK" : instance.status().text();
  }
  /// Answers of two requests in one batch.
  std::vector<std::string> answers_of(const std::string& model) {
    auto loaded = parts_->backend.load(source_of(model, "b"));
    auto instance = loaded.value()->create_instance(spec_);
    test::TestRequest first("first"), second("second");
    Request* requests[] = {&first.request(), &second.request()};
    first.mark_accepted();
    second.mark_accepted();
    EXPECT_TRUE((*instance)->execute({requests, 2, 0}).ok());
    std::vector<std::string> answers;
    for (test::TestRequest* request : {&first, &second}) {
      EXPECT_TRUE(request->wait_done());
      for (const std::string& problem : request->problems()) ADD_FAILURE() << problem;
      answers.push_back(request->response().code == Code::kOk ? "OK" : request->response().message);
    }
    return answers;
  }

  test::TemporaryDirectory folder_;
  test::RecordingLog log_;
  test::RecordingReporter reporter_;
  InstanceSpec spec_;
  std::vector<runtime::SharedObject> kept_;
  std::unique_ptr<TritonParts> parts_ =
      std::make_unique<TritonParts>(log_, TritonOptions{{folder_.path().string()}, {}, true});
};

TEST_F(TritonBackendTest, CallsComeInTritonsOrder) {
  {
    auto pending = parts_->backend.begin_load(source_of("m", "b"));
    ASSERT_TRUE(pending.ok()) << pending.status().text();
    EXPECT_EQ(calls(), "Initialize GetBackendAttribute");
    const BackendTraits traits = (*pending)->traits();
    EXPECT_TRUE(traits.parallel_instances);
    ASSERT_EQ(traits.preferred_groups.size(), 2u);
    EXPECT_EQ(traits.preferred_groups[0].kind, InstanceKind::kCpu);
    EXPECT_EQ(traits.preferred_groups[0].count, 3u);
    EXPECT_EQ(traits.preferred_groups[1].kind, InstanceKind::kAuto) << "Triton's may run on GPUs";
    EXPECT_EQ(traits.preferred_groups[1].count, 0u);
    const ModelSource source = source_of("m", "b");
    EXPECT_EQ((*pending)->complete(source).value(), source.config);
    auto model = (*pending)->load(source);
    ASSERT_TRUE(model.ok());
    pending->reset();
    auto instance = (*model)->create_instance(spec_);
    ASSERT_TRUE(instance.ok());
    EXPECT_TRUE((*instance)->ready());
    EXPECT_EQ(calls(), "ModelInitialize ModelInstanceInitialize");
    EXPECT_TRUE(log_.contains("scripted.cc:1: a model is initialised"));
    model->reset();
    EXPECT_EQ(calls(), "") << "an instance keeps its model";
  }
  EXPECT_EQ(calls(), "ModelInstanceFinalize ModelFinalize");
  EXPECT_EQ(failure_of("m"), "OK");
  EXPECT_EQ(calls(), "ModelInitialize ModelInstanceInitialize ModelInstanceFinalize ModelFinalize")
      << "the backend is there already";
  parts_.reset();
  EXPECT_EQ(calls(), "Finalize");
}

TEST_F(TritonBackendTest, ALoadThatDoesNotGoOnEndsTheModel) {
  auto pending = parts_->backend.begin_load(source_of("m", "b"));
  EXPECT_TRUE((*pending)->complete(source_of("m", "b")).ok());
  pending->reset();
  EXPECT_EQ(calls(), "Initialize GetBackendAttribute ModelInitialize ModelFinalize");
}

TEST_F(TritonBackendTest, ServesWhatIsThere) {
  EXPECT_TRUE(parts_->backend.serves(source_of("m", "b")).value());
  EXPECT_FALSE(parts_->backend.serves(source_of("m", "other")).value());
  EXPECT_EQ(failure_of("m", "other"),
            "unable to find backend library for backend 'other', try specifying runtime on the model "
            "configuration.");
  inference::ModelConfig config;
  config.set_name("m");
  config.set_backend("b");
  config.set_runtime("missing.so");
  EXPECT_THAT(parts_->backend.serves(source_of(config)).status().text(),
              HasSubstr("unable to find backend library 'missing.so' for model 'm', searched: "));
  EXPECT_EQ(calls(), "") << "looking opens nothing";
}

TEST_F(TritonBackendTest, FailuresAtLoadAreReasons) {
  for (const char* backend : {"fails_backend", "throws_backend", "fails_attributes"}) add_backend(backend);
  EXPECT_EQ(failure_of("m", "fails_backend"), "backend 'fails_backend': as it was told");
  EXPECT_EQ(calls("fails_backend"), "Initialize");
  EXPECT_EQ(failure_of("m", "throws_backend"),
            "backend 'throws_backend': it threw an exception: as it was told");
  EXPECT_EQ(failure_of("m", "fails_attributes"), "backend 'fails_attributes': as it was told");
  EXPECT_EQ(calls("fails_attributes"), "Initialize GetBackendAttribute Finalize");
  EXPECT_EQ(failure_of("fails_model"), "as it was told");
  EXPECT_EQ(failure_of("throws_model"), "it threw an exception: as it was told");
  EXPECT_NE(failure_of("completes_wrongly"), "OK");
  EXPECT_EQ(failure_of("fails_instance"), "as it was told");
  EXPECT_EQ(failure_of("throws_instance"), "it threw an exception: as it was told");
  EXPECT_EQ(failure_of("fine"), "OK");
}

TEST_F(TritonBackendTest, WhatFailedHalfWayIsFinalisedIfItLeftSomething) {
  EXPECT_EQ(failure_of("fine"), "OK");
  calls();
  EXPECT_EQ(failure_of("fails_model"), "as it was told");
  EXPECT_EQ(calls(), "ModelInitialize");
  EXPECT_EQ(failure_of("fails_model_with_state"), "as it was told");
  EXPECT_EQ(calls(), "ModelInitialize ModelFinalize");
  EXPECT_EQ(failure_of("fails_instance"), "as it was told");
  EXPECT_EQ(calls(), "ModelInitialize ModelInstanceInitialize ModelFinalize");
  EXPECT_EQ(failure_of("fails_instance_with_state"), "as it was told");
  EXPECT_EQ(calls(), "ModelInitialize ModelInstanceInitialize ModelInstanceFinalize ModelFinalize");
  add_backend("fails_backend_with_state");
  EXPECT_EQ(failure_of("m", "fails_backend_with_state"),
            "backend 'fails_backend_with_state': as it was told");
  EXPECT_EQ(calls("fails_backend_with_state"), "Initialize Finalize");
}

TEST_F(TritonBackendTest, WhatIsNoBackendSaysWhy) {
  add_backend("none", "no_execute");
  EXPECT_EQ(failure_of("m", "none"),
            cat("unable to find required entrypoint 'TRITONBACKEND_ModelInstanceExecute' in shared library: ",
                file_of("none"), ": undefined symbol: TRITONBACKEND_ModelInstanceExecute"));
  std::filesystem::resize_file(file_of("none"), 100);
  EXPECT_THAT(failure_of("m", "none"), HasSubstr("unable to load shared library: "));
}

TEST_F(TritonBackendTest, ABackendCompletesTheConfiguration) {
  inference::ModelConfig config;
  config.ParseFromString(parts_->backend.complete_config(source_of("completes", "b")).value());
  EXPECT_EQ(config.max_batch_size(), 5);
  EXPECT_EQ(config.backend(), "b");
}

TEST_F(TritonBackendTest, ScriptsAreGivenTheirEnvironment) {
  std::filesystem::create_directories(folder_.path() / "script");
  std::ofstream(folder_.path() / "script" / "model.py") << "x";
  std::ofstream(folder_.path() / "script" / "pb_exec_env_model.py.tar.gz") << "x";
  add_backend("python");
  inference::ModelConfig config;
  config.ParseFromString(parts_->backend.complete_config(source_of("m", "script")).value());
  EXPECT_EQ(config.parameters().at("EXECUTION_ENV_PATH").string_value(),
            (folder_.path() / "script" / "pb_exec_env_model.py.tar.gz").string());
  config.ParseFromString(parts_->backend.complete_config(source_of("m", "b")).value());
  EXPECT_EQ(config.parameters_size(), 0);
}

TEST_F(TritonBackendTest, ScriptsHaveTheSettingsOfWhatRunsThem) {
  std::filesystem::create_directories(folder_.path() / "script");
  std::ofstream(folder_.path() / "script" / "model.py") << "x";
  add_backend("python");
  ModelSource source = source_of("m", "script");
  source.settings = {{".python.stub-timeout-seconds", "9"}, {".b.stub-timeout-seconds", "10"}};
  ASSERT_TRUE(parts_->backend.begin_load(source).ok());
  LibrarySearch search;
  search.backend = "script";
  search.directories = {folder_.path().string()};
  auto backend = parts_->store.get(find_library(search).value(), "script", "{}");
  EXPECT_THAT(backend.value()->handle().config_json, HasSubstr(R"("stub-timeout-seconds":"9")"));
}

TEST_F(TritonBackendTest, FailedExecutionsAnswerEveryRequestOnce) {
  EXPECT_EQ(answers_of("fine"), (std::vector<std::string>{"OK", "OK"}));
  EXPECT_EQ(answers_of("fails_execute"), (std::vector<std::string>{"as it was told", "as it was told"}));
  EXPECT_EQ(answers_of("half_execute"), (std::vector<std::string>{"OK", "as it was told"}));
  const std::string thrown = "it threw an exception: as it was told";
  EXPECT_EQ(answers_of("throws_execute"), (std::vector<std::string>{thrown, thrown}));
}

TEST_F(TritonBackendTest, AnInstanceSaysWhetherItIsReadyAndWhyNot) {
  const std::pair<const char*, const char*> reasons[] = {
      {"m", ""},
      {"fails_ready", "as it was told"},
      {"throws_ready", "it threw an exception: as it was told"}};
  for (const auto& [name, reason] : reasons) {
    auto model = parts_->backend.load(source_of(name, "b"));
    auto instance = model.value()->create_instance(spec_);
    EXPECT_EQ((*instance)->ready(), *reason == '\0');
    EXPECT_EQ((*instance)->unready_reason(), reason);
  }
}

TEST_F(TritonBackendTest, TheEnvironmentDecidesAboutParallelInstances) {
  ::setenv("TRITON_PARALLEL_INSTANCE_LOADING", "0", 1);
  auto pending = parts_->backend.begin_load(source_of("m", "b"));
  EXPECT_FALSE((*pending)->traits().parallel_instances);
  ::unsetenv("TRITON_PARALLEL_INSTANCE_LOADING");
}

}  // namespace
}  // namespace atl::triton
