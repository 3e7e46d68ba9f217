#include "backends/onnxruntime/onnx_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "backends/onnxruntime/testing/backend_fixture.h"

namespace atl::ort::test {
namespace {

using atl::test::values_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const char kConfig[] = R"(max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 }
  output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 } )";

class OnnxBackendTest : public BackendFixture {
 protected:
  std::string fp32_identity() const { return identity_graph(DataType::kFp32, {kBatch, 2}).file(); }
  /// Loading and completing must fail alike. \returns "<CODE> <message>"
  std::string failure() {
    Status loading = load(kConfig);
    auto completing = backend_.complete_config(source(""));
    EXPECT_FALSE(loading.ok());
    EXPECT_FALSE(completing.ok());
    EXPECT_EQ(completing.status().text(), loading.text());
    EXPECT_THAT(loading.text(), Not(HasSubstr("\n")));
    return cat(code_name(loading.code()), " ", loading.text());
  }
  void run_once() {
    ASSERT_TRUE(make_instance().ok());
    TestRequest request;
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
    request.add_output("OUTPUT0");
    request->batch_size = 1;
    execute({&request});
    EXPECT_THAT(values_of<float>(output_bytes(request, "OUTPUT0")), ElementsAre(1, 2));
  }
};

TEST_F(OnnxBackendTest, AMissingFileIsNamed) {
  EXPECT_EQ(failure(), cat("NOT_FOUND model file '", model_path().string(), "': No such file or directory"));
}

TEST_F(OnnxBackendTest, AnEmptyFileIsRefused) {
  write("");
  EXPECT_EQ(failure(), cat("INVALID_ARGUMENT model file '", model_path().string(),
                           "': found an empty file, expected an ONNX file"));
}

TEST_F(OnnxBackendTest, AFifoIsRefusedAndNotOpened) {
  ASSERT_EQ(::mkfifo(model_path().c_str(), 0600), 0);
  EXPECT_EQ(failure(), cat("INVALID_ARGUMENT model file '", model_path().string(),
                           "': found a FIFO, expected an ONNX file"));
}

TEST_F(OnnxBackendTest, AnEmptyDirectoryIsMissingItsFile) {
  std::filesystem::create_directory(model_path());
  EXPECT_EQ(failure(),
            cat("NOT_FOUND model file '", model_path().string(), "/model.onnx': No such file or directory"));
  std::filesystem::create_directory(model_path() / "model.onnx");
  EXPECT_THAT(failure(), HasSubstr("found a directory, expected an ONNX file"));
}

TEST_F(OnnxBackendTest, NoiseIsRefused) {
  write("this is no model");
  EXPECT_THAT(failure(), HasSubstr(cat("model file '", model_path().string(), "': ")));
  write(std::string(100'000, '\xff'));
  EXPECT_THAT(failure(), HasSubstr(model_path().string()));
}

TEST_F(OnnxBackendTest, EveryTruncationIsRefusedOrServed) {
  std::string file = fp32_identity();
  size_t refused = 0;
  for (size_t size = 1; size < file.size(); ++size) {
    write(file.substr(0, size));
    Status status = load(kConfig);
    refused += !status.ok();
    EXPECT_EQ(status.ok(), status.message().empty());
  }
  // Only the operator set, which comes last, may be missing in part without being missed.
  EXPECT_GE(refused, file.size() - 8);
}

TEST_F(OnnxBackendTest, AGraphWithAnUnknownOperatorIsRefused) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kFp32, {kBatch, 2}).output("OUTPUT0", DataType::kFp32, {kBatch, 2});
  write(graph.node("NoSuchOperator", {"INPUT0"}, {"OUTPUT0"}).file());
  EXPECT_THAT(failure(), HasSubstr("NoSuchOperator"));
}

TEST_F(OnnxBackendTest, AFileNameMustStayInside) {
  write(fp32_identity());
  for (std::string name : {"../1/model.onnx", "/etc/passwd", "a/../../x"}) {
    Status status = load(cat(kConfig, "default_model_filename: '", name, "'"));
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.text(), HasSubstr(cat("default_model_filename: found '", name, "'")));
  }
}

TEST_F(OnnxBackendTest, AnotherFileNameAndTheDirectoryFormAreServed) {
  write(fp32_identity());
  std::filesystem::rename(model_path(), version_folder() / "other.onnx");
  ASSERT_TRUE(load(cat(kConfig, "default_model_filename: 'other.onnx'")).ok());
  run_once();
  std::filesystem::create_directory(model_path());
  std::filesystem::rename(version_folder() / "other.onnx", model_path() / "model.onnx");
  ASSERT_TRUE(load(kConfig).ok());
  run_once();
}

TEST_F(OnnxBackendTest, AMismatchNamesModelTensorFoundAndExpected) {
  write(fp32_identity());
  Status status = load(R"(max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_INT8 dims: 2 })");
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.text(),
            "unable to load model 'm', unexpected datatype INT8 for input 'INPUT0', expecting FP32");
}

TEST_F(OnnxBackendTest, TheModelIsNamedOnce) {
  write(fp32_identity());
  EXPECT_EQ(load("max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 } "
                 "input { name: 'INPUT1' data_type: TYPE_FP32 dims: 2 }")
                .text(),
            "unable to load model 'm', configuration expects 2 inputs, model provides 1");
}

TEST_F(OnnxBackendTest, CompletingReadsTheFile) {
  write(fp32_identity());
  auto completed = backend_.complete_config(source(""));
  ASSERT_TRUE(completed.ok()) << completed.status().text();
  inference::ModelConfig config;
  ASSERT_TRUE(config.ParseFromString(*completed));
  EXPECT_EQ(config.max_batch_size(), 4);
  EXPECT_TRUE(config.has_dynamic_batching());
  EXPECT_EQ(config.input(0).name(), "INPUT0");
  EXPECT_EQ(config.output(0).data_type(), inference::TYPE_FP32);
  ModelSource finished = source("");
  finished.config = *completed;
  EXPECT_TRUE(backend_.load(finished).ok());
}

TEST_F(OnnxBackendTest, ACompleteConfigurationIsNotTouchedNorTheFileOpened) {
  ModelSource complete = source(kConfig);
  auto completed = backend_.complete_config(complete);
  ASSERT_TRUE(completed.ok()) << completed.status().text();
  EXPECT_EQ(*completed, complete.config);
}

TEST_F(OnnxBackendTest, TheDefaultBatchSizeMustBeANumber) {
  write(fp32_identity());
  ModelSource bad = source("");
  bad.settings["default-max-batch-size"] = "four";
  EXPECT_EQ(backend_.complete_config(bad).status().message(),
            "backend setting 'default-max-batch-size': found 'four', expected an integer");
}

TEST_F(OnnxBackendTest, SequencesAndUnknownTypesAreNamed) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kFp32, {kBatch, 2}).sequence_output("OUTPUT0", DataType::kFp32);
  write(graph.node("SequenceConstruct", {"INPUT0"}, {"OUTPUT0"}).file());
  EXPECT_THAT(backend_.complete_config(source("")).status().text(),
              HasSubstr("tensor 'OUTPUT0' is of type sequence"));
  EXPECT_THAT(load(kConfig).text(), HasSubstr("expecting sequence"));
}

TEST_F(OnnxBackendTest, AnOutputOfUnknownShapeIsServedAsConfigured) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kFp32, {kBatch, 2}).output_of_unknown_shape("OUTPUT0", DataType::kFp32);
  write(graph.node("Identity", {"INPUT0"}, {"OUTPUT0"}).file());
  ASSERT_TRUE(load(kConfig).ok());
  run_once();
}

TEST_F(OnnxBackendTest, SessionsAreSharedOrNotAsAsked) {
  write(fp32_identity());
  for (std::string value : {"true", "false"}) {
    ASSERT_TRUE(
        load(cat(kConfig, "parameters { key: 'share_session_between_instances' value { string_value: '",
                 value, "' } }"))
            .ok());
    std::vector<std::unique_ptr<BackendInstance>> instances;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(make_instance().ok());
      instances.push_back(std::move(instance_));
    }
    for (auto& instance : instances) {
      instance_ = std::move(instance);
      TestRequest request;
      request.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
      request.add_output("OUTPUT0");
      request->batch_size = 1;
      execute({&request});
      EXPECT_THAT(values_of<float>(output_bytes(request, "OUTPUT0")), ElementsAre(1, 2));
    }
  }
}

TEST_F(OnnxBackendTest, AnArenaThatShrinksAfterEachRunServes) {
  write(fp32_identity());
  ASSERT_TRUE(load(cat(kConfig,
                       "parameters { key: 'memory.enable_memory_arena_shrinkage' value { string_value: "
                       "'cpu:0' } }"))
                  .ok());
  run_once();
}

TEST_F(OnnxBackendTest, ABatchOutputWithoutAPlaceInItsSourceIsRefused) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kFp32, {kBatch, 2}).output("OUTPUT0", DataType::kFp32, {kAny});
  write(graph.node("Shape", {"INPUT0"}, {"shape"})
            .node("Cast", {"shape"}, {"OUTPUT0"}, {{"to", static_cast<int64_t>(to_onnx(DataType::kFp32))}})
            .file());
  EXPECT_EQ(load(R"(max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 }
    output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: [ 2, -1 ] }
    batch_output { target_name: 'OUTPUT0' source_input: 'INPUT0' })")
                .text(),
            "unable to load model 'm', batch output 'OUTPUT0': found shape [-1,2,-1], expected -1 only where "
            "its source input 'INPUT0' with shape [-1,2] has a dimension");
}

TEST_F(OnnxBackendTest, WithoutGpusAnInstanceOnOneIsRefused) {
  write(fp32_identity());
  EXPECT_EQ(load(cat(kConfig, " instance_group { kind: KIND_GPU }")).text(),
            "unable to load model 'm', which has instances of KIND_GPU: no plugin provides GPUs");
  ASSERT_TRUE(load(kConfig).ok());
  InstanceSpec spec;
  spec.name = "m_0_0";
  spec.kind = InstanceKind::kGpu;
  auto instance = model_->create_instance(spec);
  EXPECT_EQ(instance.status().text(), "instance 'm_0_0' is of KIND_GPU: no plugin provides GPUs");
  ASSERT_EQ(backend_.traits().preferred_groups.size(), 1u);
  EXPECT_EQ(backend_.traits().preferred_groups[0].kind, InstanceKind::kCpu);
}

TEST_F(OnnxBackendTest, AnAcceleratorOfGpusIsForInstancesThere) {
  write(fp32_identity());
  EXPECT_TRUE(load(cat(kConfig, R"(optimization {
    execution_accelerators { gpu_execution_accelerator { name: 'tensorrt' } } })"))
                  .ok());
  EXPECT_EQ(log_.count(LogLevel::kWarning, "gpu_execution_accelerator"), 1u);
}

TEST_F(OnnxBackendTest, MemoryIsAtLeastTheFile) {
  write(fp32_identity());
  ASSERT_TRUE(load(kConfig).ok());
  ASSERT_EQ(model_->memory_usage().size(), 1u);
  EXPECT_EQ(model_->memory_usage()[0].size_bytes, fp32_identity().size());
}

/// Counts what it hands on.
class CountedExecutors final : public ExecutorFactory {
 public:
  explicit CountedExecutors(ExecutorFactory& next) : next_(next) {}
  Result<SerialExecutorPtr> create(std::string_view name,
                                   const ThreadPlacement& placement) noexcept override {
    if (created == limit) return make_status(Code::kResourceExhausted, "no thread");
    ++created;
    return next_.create(name, placement);
  }
  std::atomic<int> created = 0;
  std::atomic<int> limit = 1000;

 private:
  ExecutorFactory& next_;
};

TEST_F(OnnxBackendTest, SessionsHaveThreadsOfTheHost) {
  CountedExecutors executors(threads_);
  auto environment = Environment::open(log_, ORT_LOGGING_LEVEL_WARNING, executors);
  ASSERT_TRUE(environment.ok()) << environment.status().text();
  context_.environment = environment->get();
  defaults_.intra_op_threads = 3;
  backend_.open(context_, defaults_);
  write(fp32_identity());
  ASSERT_TRUE(load(kConfig).ok());
  EXPECT_EQ(executors.created, 2);  // the third one calls
  model_.reset();
  defaults_.inter_op_threads = 4;
  backend_.open(context_, defaults_);
  ASSERT_TRUE(load(cat(kConfig, "parameters { key: 'execution_mode' value { string_value: '1' } }")).ok());
  EXPECT_EQ(executors.created, 2 + 2 + 3) << "those of the second session besides";
  model_.reset();
  for (int further : {0, 1}) {
    executors.limit = executors.created + further;
    EXPECT_EQ(load(kConfig).text(), "no thread") << further << " of 2 threads can be had";
  }
  context_.environment = environment_.get();
  backend_.open(context_, defaults_);
}

TEST_F(OnnxBackendTest, TheLogOfASecondEnvironmentTakesOver) {
  // ONNX Runtime has one environment a process, made with the first log.
  RecordingLog second_log;
  auto second = Environment::open(second_log, ORT_LOGGING_LEVEL_WARNING, threads_);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(&(*second)->env(), &environment_->env());
  environment_.reset();
  context_.environment = second->get();
  backend_.open(context_, defaults_);
  // The declared shape of the output is wrong, which is worth a warning.
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kFp32, {kAny, 2}).output("OUTPUT0", DataType::kFp32, {kAny, 5});
  write(graph.node("Identity", {"INPUT0"}, {"OUTPUT0"}).file());
  (void)load(kConfig).ok();
  EXPECT_EQ(log_.records().size(), 0u);
  EXPECT_GE(second_log.records().size(), 1u);
  model_.reset();
}

}  // namespace
}  // namespace atl::ort::test
