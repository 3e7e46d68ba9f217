#include "caches/common/kept_answer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "atoll/testing/recording_sink.h"

namespace atl::caches {
namespace {

using test::TestRequest;

/// A response of two outputs and two parameters.
class KeptAnswerTest : public ::testing::Test {
 protected:
  KeptAnswerTest() {
    add("NUMBERS", DataType::kInt32, {2, 1}, numbers_);
    add("TEXT", DataType::kBytes, {1}, text_);
    Parameter& flag = response_.parameters.add(response_.arena());
    flag.key = "flag";
    flag.type = ParameterType::kBool;
    flag.bool_value = true;
    Parameter& word = response_.parameters.add(response_.arena());
    word.key = "word";
    word.text = "value";
  }
  void add(const char* name, DataType datatype, const std::vector<int64_t>& shape, std::string& bytes) {
    OutputTensor& output = response_.add_output(name, datatype, shape);
    output.buffer.data = bytes.data();
    output.buffer.size_bytes = bytes.size();
  }

  std::string numbers_ = std::string("\1\0\0\0\2\0\0\0", 8), text_ = std::string("\3\0\0\0abc", 7);
  Response response_;
};

TEST_F(KeptAnswerTest, IsGivenAsItWas) {
  KeptAnswer::Ref kept = KeptAnswer::copy_of(response_);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->size_bytes(), KeptAnswer::size_of(response_));
  numbers_.assign(8, 'x');
  text_.assign(7, 'x');
  response_.reset();
  for (int i = 0; i < 2; ++i) {
    TestRequest request("mine");
    std::vector<std::pair<std::string, std::string>> parameters;
    request.mark_accepted();
    kept->answer(request.request());
    ASSERT_TRUE(request.done());
    const test::ReceivedResponse response = request.response();
    EXPECT_EQ(response.code, Code::kOk);
    ASSERT_EQ(response.outputs.size(), 2u);
    EXPECT_EQ(response.outputs[0].shape, (std::vector<int64_t>{2, 1}));
    EXPECT_EQ(response.outputs[0].datatype, DataType::kInt32);
    EXPECT_EQ(response.outputs[0].bytes, std::string("\1\0\0\0\2\0\0\0", 8));
    EXPECT_EQ(response.find("TEXT")->bytes, std::string("\3\0\0\0abc", 7));
    EXPECT_EQ(request.problems(), std::vector<std::string>());
  }
}

TEST_F(KeptAnswerTest, IsWrittenWhereTheClientWantsIt) {
  const KeptAnswer::Ref kept = KeptAnswer::copy_of(response_);
  TestRequest request;
  std::vector<char> place(8);
  request.add_output("NUMBERS", place);
  request.add_output("TEXT");
  request.mark_accepted();
  kept->answer(request.request());
  EXPECT_EQ(std::string(place.data(), 8), std::string("\1\0\0\0\2\0\0\0", 8));
}

TEST_F(KeptAnswerTest, APlaceThatIsTooSmallIsTheClientsFailure) {
  const KeptAnswer::Ref kept = KeptAnswer::copy_of(response_);
  TestRequest request;
  std::vector<char> place(7);
  request.add_output("NUMBERS", place);
  request.add_output("TEXT");
  request.mark_accepted();
  kept->answer(request.request());
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request.response().message, "output 'NUMBERS' has a place of 7 bytes, it needs 8");
  EXPECT_EQ(request.problems(), std::vector<std::string>());
}

TEST_F(KeptAnswerTest, OutputsOnADeviceAreNotKept) {
  response_.outputs[0].buffer.kind = MemoryKind::kGpu;
  EXPECT_FALSE(KeptAnswer::copy_of(response_));
}

TEST_F(KeptAnswerTest, AnAnswerWithoutAnythingIsOne) {
  Response empty;
  const KeptAnswer::Ref kept = KeptAnswer::copy_of(empty);
  ASSERT_TRUE(kept);
  TestRequest request;
  request.mark_accepted();
  kept->answer(request.request());
  EXPECT_TRUE(request.done());
  EXPECT_TRUE(request.response().outputs.empty());
}

}  // namespace
}  // namespace atl::caches
