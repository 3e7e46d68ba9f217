/// With OpenVINO itself: that what the plugin declares of its C API is right, and what the double stands for.
#include <gmock/gmock.h>

#include <fstream>

#include "atoll/testing/conformance/backend.h"
#include "backends/openvino/testing/backend_fixture.h"
#include "backends/openvino/testing/ir_text.h"

namespace atl::openvino::test {
namespace {

using ::testing::HasSubstr;

OvBackendSettings settings_on_engine(uint32_t threads) {
  OvBackendSettings settings;
  settings.places.option = ATOLL_OPENVINO_ENGINE;
  settings.defaults.threads = threads;
  return settings;
}

class OpenVinoEngineTest : public OpenVinoTest {
 protected:
  void SetUp() override { backend_.set(settings_on_engine(2)); }
};

int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib;
  }
  return 0;
}

std::string with_parameters(const std::string& config, const std::string& threads,
                            const std::string& streams) {
  const auto one = [](const std::string& key, const std::string& value) {
    return cat(" parameters { key: '", key, "' value { string_value: '", value, "' } }");
  };
  return cat(config, one("INFERENCE_NUM_THREADS", threads), one("NUM_STREAMS", streams));
}

TEST_F(OpenVinoEngineTest, CompletesAConfiguration) {
  const std::string text = completed(ir_add("-1,3"), "");
  EXPECT_THAT(text, HasSubstr("max_batch_size: 4"));
  EXPECT_THAT(text, HasSubstr("input { name: \"INPUT0\" data_type: TYPE_FP32 dims: 3 }"));
  EXPECT_THAT(text, HasSubstr("output { name: \"OUTPUT0\" data_type: TYPE_FP32 dims: 3 }"));
  EXPECT_THAT(completed(ir_add("2,-1,5"), ""), HasSubstr("dims: 2 dims: -1 dims: 5"));
}

TEST_F(OpenVinoEngineTest, ErrorsOfFailedRunsAreNeverLost) {
  const std::string config = R"(input { name: 'INPUT0' data_type: TYPE_FP32 dims: [-1, -1] }
      input { name: 'INPUT1' data_type: TYPE_FP32 dims: [-1, -1] }
      output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: [-1, -1] })";
  for (const auto& [threads, streams] : {std::pair("1", "0"), std::pair("1", "1"), std::pair("2", "0"),
                                         std::pair("2", "1"), std::pair("2", "2")}) {
    SCOPED_TRACE(cat(threads, " threads, ", streams, " streams"));
    const Status status = load(ir_add("-1,-1"), with_parameters(config, threads, streams));
    ASSERT_TRUE(status.ok()) << status.text();
    TestRequest good, bad;
    for (TestRequest* request : {&good, &bad}) {
      (*request).add_input<float>("INPUT0", DataType::kFp32, {2, 3}, {1, 2, 3, 4, 5, 6});
      (*request).add_output("OUTPUT0");
    }
    good.add_input<float>("INPUT1", DataType::kFp32, {2, 3}, {1, 1, 1, 1, 1, 1});
    bad.add_input<float>("INPUT1", DataType::kFp32, {4, 5}, std::vector<float>(20, 1));
    execute({&good});
    execute({&bad});
    EXPECT_EQ(good.response().code, Code::kOk) << good.response().message;
    EXPECT_EQ(bad.response().code, Code::kInternal);
    EXPECT_THAT(bad.response().message, HasSubstr("mismatch"));
    EXPECT_THAT(bad.response().message, ::testing::Not(HasSubstr("src/")))
        << "no places in OpenVINO's sources";
  }
}

TEST_F(OpenVinoEngineTest, EachDatatypeComesBackAsItWas) {
  struct Case {
    DataType datatype;
    const char* ir_type;
  };
  for (const auto& [datatype, ir_type] :
       {Case{DataType::kBool, "boolean"}, Case{DataType::kUint8, "u8"}, Case{DataType::kUint16, "u16"},
        Case{DataType::kUint32, "u32"}, Case{DataType::kUint64, "u64"}, Case{DataType::kInt8, "i8"},
        Case{DataType::kInt16, "i16"}, Case{DataType::kInt32, "i32"}, Case{DataType::kInt64, "i64"},
        Case{DataType::kFp16, "f16"}, Case{DataType::kFp32, "f32"}, Case{DataType::kFp64, "f64"},
        Case{DataType::kBf16, "bf16"}}) {
    const std::string name(data_type_name(datatype));
    SCOPED_TRACE(name);
    const std::string tensor = cat("data_type: TYPE_", name, " dims: 4 }");
    const Status status = load(ir_identity("X", ir_type, ir_type, "4"),
                               cat("input { name: 'X' ", tensor, " output { name: 'X' ", tensor));
    ASSERT_TRUE(status.ok()) << status.text();
    // Small values of each type: 64 bits are computed in 32.
    std::string bytes(4 * data_type_size_bytes(datatype), '\0');
    for (size_t i = 0; i < 4; ++i) bytes[i * data_type_size_bytes(datatype)] = static_cast<char>(i % 2);
    if (datatype == DataType::kFp16 || datatype == DataType::kBf16)
      bytes = std::string("\0\x3c\0\x3c\0\0\0\x3c", 8);
    if (datatype == DataType::kFp32) bytes = atl::test::bytes_of<float>({1, -2.5, 0, 3});
    if (datatype == DataType::kFp64) bytes = atl::test::bytes_of<double>({1, -2.5, 0, 3});
    TestRequest request;
    request.add_raw_input("X", datatype, {4}, bytes);
    request.add_output("X");
    execute({&request});
    ASSERT_EQ(request.response().code, Code::kOk) << request.response().message;
    EXPECT_EQ(request.response().find("X")->bytes, bytes);
  }
}

TEST_F(OpenVinoEngineTest, StateBelongsToASequence) {
  const Status status = load(ir_total(), R"(input { name: 'A' data_type: TYPE_FP32 dims: [1, 1] }
                                            output { name: 'B' data_type: TYPE_FP32 dims: [1, 1] })");
  ASSERT_TRUE(status.ok()) << status.text();
  const auto sum = [&](uint64_t sequence, uint32_t flags, float value) {
    TestRequest request;
    request->sequence.number = sequence;
    request->sequence_flags = flags;
    request.add_input<float>("A", DataType::kFp32, {1, 1}, {value});
    request.add_output("B");
    execute({&request});
    const auto response = request.response();
    const auto* output = response.find("B");
    EXPECT_NE(output, nullptr) << request.response().message;
    return output == nullptr ? -1.0f : atl::test::values_of<float>(output->bytes)[0];
  };
  EXPECT_EQ(sum(1, kSequenceStart, 1), 1);
  EXPECT_EQ(sum(2, kSequenceStart, 10), 10);
  EXPECT_EQ(sum(1, 0, 2), 3);
  EXPECT_EQ(sum(0, 0, 100), 100);
  EXPECT_EQ(sum(0, 0, 100), 100);
  EXPECT_EQ(sum(2, kSequenceEnd, 20), 30);
}

TEST_F(OpenVinoEngineTest, MemoryStaysBoundedWhateverTheShapes) {
  ASSERT_TRUE(load(ir_add("-1,-1"), R"(input { name: 'INPUT0' data_type: TYPE_FP32 dims: [-1, -1] }
                                       input { name: 'INPUT1' data_type: TYPE_FP32 dims: [-1, -1] }
                                       output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: [-1, -1] })")
                  .ok());
  const auto run = [&](int64_t from, int64_t to) {
    for (int64_t length = from; length < to; ++length) {
      TestRequest request;
      const std::vector<float> values(static_cast<size_t>(length), 2);
      request.add_input("INPUT0", DataType::kFp32, {1, length}, values);
      request.add_input("INPUT1", DataType::kFp32, {1, length}, values);
      request.add_output("OUTPUT0");
      execute({&request});
      ASSERT_EQ(request.response().code, Code::kOk) << request.response().message;
    }
  };
  run(1, 300);
  const int64_t before = resident_kib();
  run(300, 2300);
  EXPECT_LT(resident_kib() - before, 60 * 1024);
}

TEST_F(OpenVinoEngineTest, LoadsAndUnloadsWithoutEnd) {
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(load(ir_add("-1,3"), kAddConfig).ok());
      instance_.reset();
      model_.reset();
    }
  };
  rounds(20);
  const int64_t before = resident_kib();
  rounds(60);
  EXPECT_LT(resident_kib() - before, 20 * 1024);
}

}  // namespace
}  // namespace atl::openvino::test

namespace atl::test {
namespace {

BackendProvider provider() {
  static TemporaryDirectory models;
  BackendCase sums;
  sums.name = "sums";
  sums.max_batch_size = 4;
  sums.source = openvino::test::write_model(models.path(), "sums", openvino::test::ir_add("-1,3"),
                                            openvino::test::kAddConfig);
  sums.fill = [](TestRequest& request, uint64_t n) {
    auto x = static_cast<float>(n);
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 3}, {x, x + 1, x + 2});
    request.add_input<float>("INPUT1", DataType::kFp32, {1, 3}, {1, 10, 100});
    request.add_output("OUTPUT0");
  };
  sums.right = [](const ReceivedResponse& response, uint64_t n) -> ::testing::AssertionResult {
    auto x = static_cast<float>(n);
    const ReceivedOutput* output = response.find("OUTPUT0");
    if (output == nullptr) return ::testing::AssertionFailure() << "no OUTPUT0";
    if (output->bytes != bytes_of<float>({x + 1, x + 11, x + 102}))
      return ::testing::AssertionFailure() << "other bytes";
    return ::testing::AssertionSuccess();
  };
  sums.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 4}, {1, 2, 3, 4});
    request.add_input<float>("INPUT1", DataType::kFp32, {1, 4}, {1, 2, 3, 4});
    request.add_output("OUTPUT0");
  };
  BackendCase texts;
  texts.name = "texts";
  texts.max_batch_size = 4;
  texts.source = openvino::test::write_model(
      models.path(), "texts", openvino::test::ir_identity("X", "string", "string", "-1,2"),
      R"(max_batch_size: 4 input { name: 'X' data_type: TYPE_STRING dims: 2 }
                                                output { name: 'X' data_type: TYPE_STRING dims: 2 })");
  auto elements = [](uint64_t n) {
    return std::vector<std::string>{cat("text ", n), std::string(n * 100, '\0')};
  };
  texts.fill = [elements](TestRequest& request, uint64_t n) {
    request.add_bytes_input("X", {1, 2}, elements(n));
    request.add_output("X");
  };
  texts.right = [elements](const ReceivedResponse& response, uint64_t n) -> ::testing::AssertionResult {
    const ReceivedOutput* output = response.find("X");
    if (output != nullptr && output->bytes == encode_bytes_tensor(elements(n)))
      return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "other texts";
  };
  texts.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_raw_input("X", DataType::kBytes, {1, 2}, "\xff\xff\xff\xff not so long");
    request.add_output("X");
  };
  BackendProvider provider;
  provider.name = "openvino_engine";
  provider.make = [](FakeHost& host) {
    auto backend = std::make_shared<openvino::OpenVinoBackend>(host);
    openvino::OvBackendSettings settings;
    settings.places.option = ATOLL_OPENVINO_ENGINE;
    settings.defaults.threads = 2;
    backend->set(std::move(settings));
    return std::shared_ptr<Backend>(backend);
  };
  provider.cases = {sums, texts};
  return provider;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(OpenVinoEngine, BackendConformance, ::testing::Values(provider()));

}  // namespace atl::test
