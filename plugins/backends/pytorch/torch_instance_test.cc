#include "backends/pytorch/torch_instance.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <fstream>

#include "atoll/testing/fake_sequence_state.h"
#include "backends/pytorch/testing/torch_fixture.h"

namespace atl::pytorch::test {
namespace {

using atl::test::bytes_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TorchInstanceTest : public TorchTest {
 protected:
  static constexpr const char* kIdentity = "def forward(self, x):\n  return x";
  static void add(TestRequest& request, const std::vector<float>& rows, int64_t columns = 2,
                  const std::string& input = "x") {
    const auto count = static_cast<int64_t>(rows.size()) / columns;
    request.add_input<float>(input, DataType::kFp32, {count, columns}, rows);
    request->batch_size = static_cast<uint32_t>(count);
    request.add_output("OUTPUT__0");
  }
  static std::string batching(const std::string& dims = "dims: 2") {
    return "max_batch_size: 8 " + tensor("input", "x", "FP32", dims) +
           tensor("output", "OUTPUT__0", "FP32", dims);
  }
};

class EveryType : public TorchInstanceTest, public testing::WithParamInterface<DataType> {};

TEST_P(EveryType, IdentityKeepsEveryBit) {
  const std::string name(data_type_name(GetParam()));
  serve(kIdentity, "max_batch_size: 8 " + tensor("input", "x", name, "dims: 3") +
                       tensor("output", "OUTPUT__0", name, "dims: 3"));
  std::string bytes(6 * data_type_size_bytes(GetParam()), '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(GetParam() == DataType::kBool ? i % 2 : i * 37 + 5);
  TestRequest whole, cut;
  whole.add_raw_input("x", GetParam(), {2, 3}, bytes, {}, 1);
  cut.add_raw_input("x", GetParam(), {2, 3}, bytes, {0, 1, 5}, 3);
  for (TestRequest* request : {&whole, &cut}) {
    request->request().batch_size = 2;
    request->add_output("OUTPUT__0");
  }
  execute({&whole, &cut});
  for (TestRequest* request : {&whole, &cut}) {
    ASSERT_NE(request->response().find("OUTPUT__0"), nullptr) << request->response().message;
    EXPECT_EQ(request->response().find("OUTPUT__0")->bytes, bytes);
    EXPECT_THAT(request->response().find("OUTPUT__0")->shape, ElementsAre(2, 3));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryType,
                         testing::Values(DataType::kBool, DataType::kUint8, DataType::kInt8, DataType::kInt16,
                                         DataType::kInt32, DataType::kInt64, DataType::kFp16, DataType::kFp32,
                                         DataType::kFp64, DataType::kBf16),
                         [](const auto& type) { return std::string(data_type_name(type.param)); });

TEST_F(TorchInstanceTest, ABatchIsOneRun) {
  serve("def forward(self, x):\n  return x + x.size(0)", batching());
  TestRequest a, b;
  add(a, {1, 2});
  add(b, {3, 4, 5, 6});
  execute({&a, &b});
  EXPECT_THAT(values<float>(a), ElementsAre(4, 5));
  EXPECT_THAT(values<float>(b), ElementsAre(6, 7, 8, 9));
  EXPECT_THAT(reporter_.batches(), ElementsAre(3u));
}

TEST_F(TorchInstanceTest, OtherShapesRunOnTheirOwn) {
  serve("def forward(self, x):\n  return x + x.size(0)", batching("dims: -1"));
  TestRequest a, b, c;
  add(a, {1, 2});
  add(b, {1, 2, 3}, 3);
  add(c, {5, 6});
  execute({&a, &b, &c});
  EXPECT_THAT(values<float>(a), ElementsAre(3, 4));
  EXPECT_THAT(values<float>(b), ElementsAre(2, 3, 4));
  EXPECT_THAT(values<float>(c), ElementsAre(7, 8));
}

TEST_F(TorchInstanceTest, AFailureIsThatOfItsOwnRequest) {
  serve("def forward(self, x):\n  assert bool((x >= 0).all()), 'negative'\n  return x", batching());
  TestRequest good, bad;
  add(good, {1, 2});
  add(bad, {1, -2});
  execute({&good, &bad});
  EXPECT_THAT(values<float>(good), ElementsAre(1, 2));
  EXPECT_EQ(bad.response().code, Code::kInternal);
  EXPECT_THAT(bad.response().message, HasSubstr("model 'm': PyTorch execute failure: "));
  EXPECT_THAT(bad.response().message, HasSubstr("negative"));
}

TEST_F(TorchInstanceTest, ForwardMayWriteToItsArguments) {
  serve("def forward(self, x):\n  x.add_(1)\n  return x", batching());
  TestRequest request;
  add(request, {1, 2});
  const std::string before(static_cast<const char*>(request->inputs[0].buffers[0].data), 8);
  execute({&request});
  EXPECT_THAT(values<float>(request), ElementsAre(2, 3));
  EXPECT_EQ(std::string(static_cast<const char*>(request->inputs[0].buffers[0].data), 8), before);
}

TEST_F(TorchInstanceTest, WrongRequestsAreAnsweredAlone) {
  serve(kIdentity, batching());
  TestRequest good, type, bytes, missing;
  add(good, {1, 2});
  type.add_input<int32_t>("x", DataType::kInt32, {1, 2}, {1, 2});
  bytes.add_raw_input("x", DataType::kFp32, {1, 2}, "1234567");
  for (TestRequest* request : {&type, &bytes, &missing}) {
    request->request().batch_size = 1;
    request->add_output("OUTPUT__0");
  }
  execute({&good, &type, &bytes, &missing});
  EXPECT_THAT(values<float>(good), ElementsAre(1, 2));
  EXPECT_THAT(type.response().message, HasSubstr("input 'x': found datatype INT32, expected FP32"));
  EXPECT_THAT(bytes.response().message, HasSubstr("input 'x': found 7 bytes, expected 8 for shape [1,2]"));
  EXPECT_THAT(missing.response().message, HasSubstr("input 'x': found none"));
}

TEST_F(TorchInstanceTest, WrongResultsAreErrors) {
  const std::pair<const char*, const char*> models[] = {
      {"def forward(self, x):\n  return x.double()",
       "output 'OUTPUT__0': found datatype FP64 from the model"},
      {"def forward(self, x):\n  return x.sum()",
       "output 'OUTPUT__0': found shape [] from the model, expected the batch size 1"},
      {"def forward(self, x):\n  return 1", "output 'OUTPUT__0': found a result of type Int"},
      {"def forward(self, x):\n  return {'a': x}", "output 'OUTPUT__0': found no key of this name"},
      {"def forward(self, x):\n  return ['a']", "output 'OUTPUT__0': found List[str]"},
  };
  for (const auto& [forward, reason] : models) {
    serve(forward, batching());
    TestRequest request;
    add(request, {1, 2});
    execute({&request});
    EXPECT_NE(request.response().code, Code::kOk);
    EXPECT_THAT(request.response().message, HasSubstr(reason));
  }
  serve("def forward(self, x):\n  return (x, )",
        "max_batch_size: 8 " + tensor("input", "x") + tensor("output", "OUTPUT__3"));
  TestRequest request;
  add(request, {1, 2});
  request->outputs.clear();
  request.add_output("OUTPUT__3");
  execute({&request});
  EXPECT_THAT(request.response().message, HasSubstr("the model gives 1 result, expected one at position 3"));
}

TEST_F(TorchInstanceTest, AScalarIsOneElementWithoutBatches) {
  serve("def forward(self, x):\n  return x.sum()",
        tensor("input", "x") + tensor("output", "OUTPUT__0", "FP32", "dims: 1"));
  TestRequest request;
  request.add_input<float>("x", DataType::kFp32, {2}, {1, 2});
  request.add_output("OUTPUT__0");
  execute({&request});
  EXPECT_THAT(values<float>(request), ElementsAre(3));
  EXPECT_THAT(request.response().find("OUTPUT__0")->shape, ElementsAre(1));
}

TEST_F(TorchInstanceTest, ImplicitState) {
  serve(
      "def forward(self, x, sum):\n  sum = sum + x\n  return sum, sum",
      "max_batch_size: 8 " + tensor("input", "x") + tensor("output", "OUTPUT__0") +
          "sequence_batching { state { input_name: 'sum' output_name: 'SUM__1' data_type: TYPE_FP32 dims: 2 } }");
  atl::test::FakeSequenceState state;
  state.add("sum", "SUM__1", {DataType::kFp32, {1, 2}, bytes_of<float>({10, 20})});
  for (int i = 1; i <= 2; ++i) {
    TestRequest request;
    add(request, {1, 2});
    state.attach(*request);
    execute({&request});
    EXPECT_THAT(values<float>(request), ElementsAre(10 + i, 20 + 2 * i));
  }
  EXPECT_EQ(state.value("SUM__1").bytes, bytes_of<float>({12, 24}));
  EXPECT_THAT(state.problems(), IsEmpty());
}

TEST_F(TorchInstanceTest, InstancesHaveModulesOfTheirOwnUnlessTheyShare) {
  const std::string counting = "def forward(self, x):\n  self.count.add_(1)\n  return x + self.count";
  const auto save = [&] {
    torch::jit::Module module("m");
    module.register_buffer("count", at::zeros({1}));
    module.define(counting + "\n");
    module.save(model_path().string());
  };
  for (const bool shares : {false, true}) {
    save();
    ASSERT_TRUE(load("", batching() + cat("parameters { key: 'ENABLE_WEIGHT_SHARING' value { string_value: '",
                                          shares ? "true" : "false", "' } }"))
                    .ok());
    auto first = make_instance(), second = make_instance();
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(model_->memory_usage()[0].size_bytes,
              std::filesystem::file_size(model_path()) * (shares ? 1 : 2));
    instance_ = std::move(first).value();
    TestRequest a, b;
    add(a, {0, 0});
    add(b, {0, 0});
    execute({&a});
    instance_ = std::move(second).value();
    execute({&b});
    EXPECT_THAT(values<float>(a), ElementsAre(1, 1));
    EXPECT_THAT(values<float>(b), shares ? ElementsAre(2, 2) : ElementsAre(1, 1));
  }
}

TEST_F(TorchInstanceTest, ParametersAreChecked) {
  for (const char* key :
       {"INFERENCE_MODE", "DISABLE_OPTIMIZED_EXECUTION", "ENABLE_WEIGHT_SHARING", "INTRA_OP_THREAD_COUNT",
        "INTER_OP_THREAD_COUNT", "ENABLE_JIT_EXECUTOR", "ENABLE_JIT_PROFILING", "ENABLE_TENSOR_FUSER"}) {
    const Status status =
        load(kIdentity, batching() + cat("parameters { key: '", key, "' value { string_value: 'much' } }"));
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << key;
    EXPECT_THAT(status.text(), HasSubstr(cat("parameter '", key, "' is 'much'")));
  }
}

TEST_F(TorchInstanceTest, ModesGiveTheSameAnswers) {
  for (const char* key : {"INFERENCE_MODE", "DISABLE_OPTIMIZED_EXECUTION"}) {
    for (const char* value : {"true", "false"}) {
      serve("def forward(self, x):\n  return x * 2",
            batching() + cat("parameters { key: '", key, "' value { string_value: '", value, "' } }"));
      for (int i = 0; i < 3; ++i) {  // the first runs are recorded, later ones optimised
        TestRequest request;
        add(request, {1, 2});
        execute({&request});
        EXPECT_THAT(values<float>(request), ElementsAre(2, 4));
      }
    }
  }
}

TEST_F(TorchInstanceTest, AProcessHasOneValueOfSome) {
  const auto with = [](const char* value) {
    return batching() +
           cat("parameters { key: 'ENABLE_TENSOR_FUSER' value { string_value: '", value, "' } }");
  };
  ASSERT_TRUE(load(kIdentity, with("true")).ok());
  EXPECT_FALSE(log_.contains("ENABLE_TENSOR_FUSER"));
  ASSERT_TRUE(load(kIdentity, with("false")).ok());
  EXPECT_TRUE(log_.contains("parameter 'ENABLE_TENSOR_FUSER' has no effect"));
}

TEST_F(TorchInstanceTest, FilesThatAreNoModels) {
  EXPECT_EQ(load("", batching()).code(), Code::kNotFound);
  std::ofstream(model_path()) << "not a model";
  Status status = load("", batching());
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.text(), HasSubstr("PyTorch cannot read it"));
  save_module(kIdentity, model_path());
  std::filesystem::resize_file(model_path(), std::filesystem::file_size(model_path()) / 2);
  EXPECT_EQ(load("", batching()).code(), Code::kInvalidArgument);
}

TEST_F(TorchInstanceTest, GpusAreRefused) {
  ASSERT_TRUE(load(kIdentity, batching()).ok());
  EXPECT_EQ(make_instance(InstanceKind::kGpu).status().code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace atl::pytorch::test
