#include "atoll/testing/conformance/backend.h"
#include "backends/cuda/testing/gpu_bench.h"

namespace atl::test {
namespace {

using cuda_backend::test::GpuBench;
using cuda_backend::test::GpuSetup;
using cuda_backend::test::kCopyConfig;
using cuda_backend::test::kCopyPipeline;
using cuda_backend::test::kScaleConfig;
using cuda_backend::test::kScalePipeline;
using cuda_backend::test::ModelFiles;

::testing::AssertionResult has(const ReceivedResponse& response, const std::string& bytes) {
  const ReceivedOutput* output = response.find("OUTPUT0");
  if (output == nullptr) return ::testing::AssertionFailure() << "no OUTPUT0";
  if (output->bytes != bytes) return ::testing::AssertionFailure() << "other bytes";
  return ::testing::AssertionSuccess();
}

BackendCase scales(ModelFiles& files, const std::string& name, const std::string& more) {
  BackendCase one;
  one.name = name;
  one.max_batch_size = 4;
  one.source = files.add(name, kScaleConfig + more, kScalePipeline);
  one.fill = [](TestRequest& request, uint64_t n) {
    const auto x = static_cast<float>(n);
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 4}, {x, x + 1, x + 2, x + 3});
    request.add_output("OUTPUT0");
  };
  one.right = [](const ReceivedResponse& response, uint64_t n) {
    const auto x = 2 * static_cast<float>(n);
    return has(response, bytes_of<float>({x, x + 2, x + 4, x + 6}));
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 3}, {1, 2, 3});
    request.add_output("OUTPUT0");
  };
  return one;
}

BackendCase bytes(ModelFiles& files) {
  BackendCase one;
  one.name = "bytes";
  one.source = files.add("bytes", kCopyConfig, kCopyPipeline);
  const auto content = [](uint64_t n) { return std::string(n * 1000 + 3, static_cast<char>('a' + n)); };
  one.fill = [content](TestRequest& request, uint64_t n) {
    const std::string sent = content(n);
    request.add_raw_input("INPUT0", DataType::kUint8, {static_cast<int64_t>(sent.size())}, sent);
    request.add_output("OUTPUT0");
  };
  one.right = [content](const ReceivedResponse& response, uint64_t n) { return has(response, content(n)); };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_raw_input("INPUT0", DataType::kUint8, {4}, "abc");
    request.add_output("OUTPUT0");
  };
  return one;
}

BackendProvider cuda(const std::string& name, const std::string& more, const GpuSetup& setup) {
  static ModelFiles files;
  BackendProvider provider;
  provider.name = name;
  provider.kind = InstanceKind::kGpu;
  provider.make = [setup](FakeHost&) {
    auto bench = std::make_shared<GpuBench>(setup);
    return std::shared_ptr<Backend>(bench, &bench->backend);
  };
  provider.cases = {scales(files, "scale_" + name, more), bytes(files)};
  return provider;
}

INSTANTIATE_TEST_SUITE_P(
    Cuda, BackendConformance,
    ::testing::Values(
        cuda("plain", "", {}), cuda("pageable", "", {.devices = 1, .pinned_bytes = 0}),
        cuda("graphs", "optimization { cuda { graphs: true } }", {}),
        cuda("streams",
             "optimization { eager_batching: true cuda { output_copy_stream: true graphs: true } }", {})));

}  // namespace
}  // namespace atl::test
