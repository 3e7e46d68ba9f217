#include <gtest/gtest.h>

#include "atoll/testing/conformance/backend.h"
#include "atoll/testing/thread_executor.h"
#include "backends/onnxruntime/testing/library_in_use.h"
#include "backends/onnxruntime/testing/ragged_graphs.h"

namespace atl::test {
namespace {

using ort::test::kAny;
using ort::test::kBatch;
using ort::test::OnnxGraph;

/// A backend with all that must outlive it.
struct Assembly {
  explicit Assembly(FakeHost& host) {
    ort::test::use_library();
    environment = ort::Environment::open(host.log(), ORT_LOGGING_LEVEL_WARNING, threads).value();
    ort::BackendContext context;
    context.environment = environment.get();
    context.clock = &host.clock();
    backend.open(context, {2, 1, 1, false});
  }
  test::ThreadExecutors threads;
  std::unique_ptr<ort::Environment> environment;
  ort::OnnxBackend backend;
};

/// The folder of this process's models, removed at the end.
class Models {
 public:
  Models() {
    std::string pattern = (std::filesystem::temp_directory_path() / "atoll-onnx-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  }
  ~Models() { std::filesystem::remove_all(folder_); }
  ModelSource add(const std::string& name, const OnnxGraph& graph, const std::string& config) {
    auto version = folder_ / name / "1";
    std::filesystem::create_directories(version);
    std::ofstream(version / "model.onnx", std::ios::binary) << graph.file();
    ModelSource source;
    source.name = name;
    source.version = 1;
    source.model_directory = (folder_ / name).string();
    source.version_directory = version.string();
    source.config = ort::test::config_of(cat("name: '", name, "' ", config)).SerializeAsString();
    source.settings = {{"default-max-batch-size", "4"}};
    return source;
  }

 private:
  std::filesystem::path folder_;
};

::testing::AssertionResult is(const ReceivedResponse& response, const std::string& expected) {
  const ReceivedOutput* output = response.find("OUTPUT0");
  if (output == nullptr) return ::testing::AssertionFailure() << "no OUTPUT0";
  if (output->bytes != expected) return ::testing::AssertionFailure() << "other bytes";
  return ::testing::AssertionSuccess();
}

BackendCase sums(Models& models) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kFp32, {kBatch, 3}).input("INPUT1", DataType::kFp32, {kBatch, 3});
  graph.output("OUTPUT0", DataType::kFp32, {kBatch, 3}).node("Add", {"INPUT0", "INPUT1"}, {"OUTPUT0"});
  BackendCase one;
  one.name = "sums";
  one.max_batch_size = 4;
  one.source = models.add("sums", graph, R"(max_batch_size: 4
    input { name: 'INPUT0' data_type: TYPE_FP32 dims: 3 } input { name: 'INPUT1' data_type: TYPE_FP32 dims: 3 }
    output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 3 })");
  one.fill = [](TestRequest& request, uint64_t n) {
    auto x = static_cast<float>(n);
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 3}, {x, x + 1, x + 2});
    request.add_input<float>("INPUT1", DataType::kFp32, {1, 3}, {1, 10, 100});
    request.add_output("OUTPUT0");
  };
  one.right = [](const ReceivedResponse& response, uint64_t n) {
    auto x = static_cast<float>(n);
    return is(response, bytes_of<float>({x + 1, x + 11, x + 102}));
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 4}, {1, 2, 3, 4});
    request.add_input<float>("INPUT1", DataType::kFp32, {1, 4}, {1, 2, 3, 4});
    request.add_output("OUTPUT0");
  };
  return one;
}

BackendCase texts(Models& models) {
  BackendCase one;
  one.name = "texts";
  one.max_batch_size = 4;
  one.source =
      models.add("texts", ort::test::identity_graph(DataType::kBytes, {kBatch, 2}), R"(max_batch_size: 4
    input { name: 'INPUT0' data_type: TYPE_STRING dims: 2 } output { name: 'OUTPUT0' data_type: TYPE_STRING dims: 2 })");
  auto elements = [](uint64_t n) {
    return std::vector<std::string>{cat("text ", n), std::string(n * 100, '\0')};
  };
  one.fill = [elements](TestRequest& request, uint64_t n) {
    request.add_bytes_input("INPUT0", {1, 2}, elements(n));
    request.add_output("OUTPUT0");
  };
  one.right = [elements](const ReceivedResponse& response, uint64_t n) {
    return is(response, encode_bytes_tensor(elements(n)));
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_raw_input("INPUT0", DataType::kBytes, {1, 2}, "\xff\xff\xff\xff not so long");
    request.add_output("OUTPUT0");
  };
  return one;
}

BackendCase positions(Models& models) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kInt32, {kAny}).output("OUTPUT0", DataType::kInt64, {1, kAny});
  graph.node("NonZero", {"INPUT0"}, {"OUTPUT0"});
  BackendCase one;
  one.name = "positions";
  one.source = models.add("positions", graph, R"(input { name: 'INPUT0' data_type: TYPE_INT32 dims: -1 }
    output { name: 'OUTPUT0' data_type: TYPE_INT64 dims: [1, -1] })");
  one.fill = [](TestRequest& request, uint64_t) {
    request.add_input<int32_t>("INPUT0", DataType::kInt32, {4}, {0, 5, 0, 6});
    request.add_output("OUTPUT0");
  };
  one.right = [](const ReceivedResponse& response, uint64_t) {
    return is(response, bytes_of<int64_t>({1, 3}));
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_input<int32_t>("INPUT0", DataType::kInt32, {4}, {1, 2, 3});
    request.add_output("OUTPUT0");
  };
  return one;
}

/// Inputs of another length in each request.
BackendCase segments(Models& models) {
  BackendCase one;
  one.name = "segments";
  one.max_batch_size = 4;
  one.source = models.add("segments", ort::test::segment_sum_graph(), ort::test::kSegmentSumConfig);
  one.fill = [](TestRequest& request, uint64_t n) {
    request.add_input<float>("INPUT", DataType::kFp32, {1, static_cast<int64_t>(n)}, std::vector(n, 3.0f));
    request.add_input<float>("FACTOR", DataType::kFp32, {1, 1}, {2});
    request.add_output("SUM");
    request.add_output("DOUBLE");
  };
  one.right = [](const ReceivedResponse& response, uint64_t n) -> ::testing::AssertionResult {
    const ReceivedOutput *sum = response.find("SUM"), *twice = response.find("DOUBLE");
    if (sum == nullptr || twice == nullptr) return ::testing::AssertionFailure() << "an output is missing";
    if (sum->bytes != bytes_of<float>({6.0f * static_cast<float>(n)})) {
      return ::testing::AssertionFailure() << "another sum";
    }
    if (twice->bytes != bytes_of(std::vector(n, 6.0f)))
      return ::testing::AssertionFailure() << "other elements";
    return ::testing::AssertionSuccess();
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_input<float>("INPUT", DataType::kFp32, {1, 4}, {1, 2, 3});
    request.add_input<float>("FACTOR", DataType::kFp32, {1, 1}, {2});
    request.add_output("SUM");
  };
  return one;
}

BackendProvider provider() {
  static Models models;
  BackendProvider provider;
  provider.name = "onnxruntime";
  provider.make = [](FakeHost& host) {
    auto assembly = std::make_shared<Assembly>(host);
    return std::shared_ptr<Backend>(assembly, &assembly->backend);
  };
  provider.cases = {sums(models), texts(models), positions(models), segments(models)};
  return provider;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(OnnxRuntime, BackendConformance, ::testing::Values(provider()));

}  // namespace atl::test
