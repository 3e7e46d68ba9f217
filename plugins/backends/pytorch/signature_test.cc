// How names belong to arguments and results.
#include <gmock/gmock.h>

#include "backends/pytorch/testing/torch_fixture.h"

namespace atl::pytorch::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SignatureTest : public TorchTest {
 protected:
  /// a - b of a request with A = {5, 6} and B = {1, 2} under these names.
  void ask_difference(const std::string& a, const std::string& b, const std::string& output,
                      TestRequest& request) {
    request.add_input<float>(a, DataType::kFp32, {2}, {5, 6});
    request.add_input<float>(b, DataType::kFp32, {2}, {1, 2});
    request.add_output(output);
    execute({&request});
  }
  static constexpr const char* kDifference = "def forward(self, left, right):\n  return left - right";
};

TEST_F(SignatureTest, NamesOfArguments) {
  serve(kDifference, tensor("input", "right") + tensor("input", "left") + tensor("output", "RESULT"));
  TestRequest request;
  ask_difference("left", "right", "RESULT", request);
  EXPECT_THAT(values<float>(request, "RESULT"), ElementsAre(4, 4));
}

TEST_F(SignatureTest, NamesWithIndices) {
  serve(kDifference, tensor("input", "x__1") + tensor("input", "y__0") + tensor("output", "OUTPUT__0"));
  TestRequest request;
  ask_difference("y__0", "x__1", "OUTPUT__0", request);
  EXPECT_THAT(values<float>(request), ElementsAre(4, 4));
}

TEST_F(SignatureTest, OtherwiseTheOrderCounts) {
  serve(kDifference, tensor("input", "FIRST") + tensor("input", "right") + tensor("output", "R"));
  TestRequest request;
  ask_difference("FIRST", "right", "R", request);
  EXPECT_THAT(values<float>(request, "R"), ElementsAre(4, 4));
}

TEST_F(SignatureTest, ADictionaryIsGivenByNames) {
  serve("def forward(self, x: Dict[str, Tensor]):\n  return x['A'] - x['B']",
        tensor("input", "B") + tensor("input", "A") + tensor("output", "OUTPUT__0"));
  TestRequest request;
  ask_difference("A", "B", "OUTPUT__0", request);
  EXPECT_THAT(values<float>(request), ElementsAre(4, 4));
}

TEST_F(SignatureTest, AListIsGivenByIndices) {
  serve("def forward(self, x: List[Tensor]):\n  return x[0] - x[1]",
        tensor("input", "I__1") + tensor("input", "I__0") + tensor("output", "OUTPUT__0"));
  TestRequest request;
  ask_difference("I__0", "I__1", "OUTPUT__0", request);
  EXPECT_THAT(values<float>(request), ElementsAre(4, 4));
}

TEST_F(SignatureTest, ResultsOfATuple) {
  serve("def forward(self, x):\n  return x + 1, x + 2",
        tensor("input", "x") + tensor("output", "O__1") + tensor("output", "O__0"));
  TestRequest request;
  request.add_input<float>("x", DataType::kFp32, {2}, {0, 0});
  request.add_output("O__0");
  request.add_output("O__1");
  execute({&request});
  EXPECT_THAT(values<float>(request, "O__0"), ElementsAre(1, 1));
  EXPECT_THAT(values<float>(request, "O__1"), ElementsAre(2, 2));
}

TEST_F(SignatureTest, ResultsOfAListAndADictionary) {
  for (const char* forward : {"def forward(self, x):\n  return [x + 1, x + 2]",
                              "def forward(self, x):\n  return {'O__1': x + 2, 'O__0': x + 1}"}) {
    serve(forward, tensor("input", "x") + tensor("output", "O__1") + tensor("output", "O__0"));
    TestRequest request;
    request.add_input<float>("x", DataType::kFp32, {2}, {0, 0});
    request.add_output("O__0");
    request.add_output("O__1");
    execute({&request});
    EXPECT_THAT(values<float>(request, "O__0"), ElementsAre(1, 1));
    EXPECT_THAT(values<float>(request, "O__1"), ElementsAre(2, 2));
  }
}

TEST_F(SignatureTest, OptionalArguments) {
  serve(
      "def forward(self, x, y: Optional[Tensor], z: float = 0.5):\n  if y is None:\n    return x + z\n  return x + y + z",
      tensor("input", "x") + tensor("input", "y", "FP32", "dims: 2 optional: true") +
          tensor("output", "O__0"));
  TestRequest with, without;
  with.add_input<float>("x", DataType::kFp32, {2}, {1, 2});
  with.add_input<float>("y", DataType::kFp32, {2}, {10, 20});
  without.add_input<float>("x", DataType::kFp32, {2}, {1, 2});
  for (TestRequest* request : {&with, &without}) request->add_output("O__0");
  execute({&with, &without});
  EXPECT_THAT(values<float>(with, "O__0"), ElementsAre(11.5, 22.5));
  EXPECT_THAT(values<float>(without, "O__0"), ElementsAre(1.5, 2.5));
}

TEST_F(SignatureTest, TextsAreLists) {
  serve(
      "def forward(self, x: List[str]):\n  y: List[str] = []\n  for one in x:\n    y.append(one + '!')\n  return y",
      tensor("input", "x", "STRING", "dims: -1") + tensor("output", "O", "STRING", "dims: -1"));
  TestRequest request;
  request.add_bytes_input("x", {2}, {"a", ""});
  request.add_output("O");
  execute({&request});
  EXPECT_THAT(atl::test::decode_bytes_tensor(request.response().find("O")->bytes), ElementsAre("a!", "!"));
}

struct Misfit {
  const char* forward;
  std::string config;
  const char* reason;
};

TEST_F(SignatureTest, WhatDoesNotFitFailsTheLoad) {
  const std::string output = tensor("output", "O");
  const Misfit misfits[] = {
      {kDifference, tensor("input", "left") + output,
       "found no input for argument 'right' of forward(left, right)"},
      {kDifference, tensor("input", "a") + tensor("input", "b") + tensor("input", "c") + output,
       "input 'c': found position 2"},
      {kDifference, tensor("input", "a__0") + tensor("input", "b__0") + output, "both have position 0"},
      {kDifference, tensor("input", "left", "UINT32") + tensor("input", "right") + output,
       "found datatype UINT32"},
      {kDifference, tensor("input", "left", "STRING") + tensor("input", "right") + output,
       "found datatype BYTES for argument 'left' of type Tensor"},
      {kDifference,
       tensor("input", "left", "FP32", "dims: 2 optional: true") + tensor("input", "right") + output,
       "argument 'left' of forward() is not"},
      {"def forward(self, x: int):\n  return x", tensor("input", "x") + output, "argument 'x' of type int"},
      {"def forward(self, x):\n  return x", tensor("input", "x") + tensor("output", "O", "UINT64"),
       "output 'O': found datatype UINT64"},
      {"def backward(self, x):\n  return x", tensor("input", "x") + output, "no method forward()"},
  };
  for (const Misfit& misfit : misfits) {
    const Status status = load(misfit.forward, misfit.config);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << misfit.reason;
    EXPECT_THAT(status.text(), HasSubstr(misfit.reason));
    EXPECT_THAT(status.text(), HasSubstr("unable to load model 'm'"));
  }
}

}  // namespace
}  // namespace atl::pytorch::test
