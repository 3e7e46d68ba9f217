#include "caches/triton/packed_answer.h"

#include <gtest/gtest.h>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/recording_sink.h"

namespace atl::caches {
namespace {

class PackedAnswerTest : public ::testing::Test {
 protected:
  PackedAnswerTest() {
    OutputTensor& output = response_.add_output("OUTPUT0", DataType::kFp32, std::vector<int64_t>{2});
    output.buffer.data = values_;
    output.buffer.size_bytes = sizeof values_;
    request_->model = &model_;
  }
  std::string packed() { return pack_answer(response_, model_.info(), "key", 1 << 20).value(); }
  std::string read(std::string_view bytes, std::string_view key = "key") {
    Result<ReadAnswer> answer = unpack_answer(bytes, request_.request(), key);
    return answer.ok() ? "an answer" : std::string(answer.status().message());
  }

  float values_[2] = {1, 2};
  Response response_;
  test::FakeModelCatalog catalog_;
  test::FakeServedModel& model_ = catalog_.add_identity("m");
  test::TestRequest request_;
};

TEST_F(PackedAnswerTest, IsReadAsItWasWritten) {
  EXPECT_EQ(read(packed()), "an answer");
  EXPECT_EQ(packed(), packed());
}

TEST_F(PackedAnswerTest, AnyPartOfItIsNoAnswer) {
  const std::string whole = packed();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(read(whole.substr(0, size)), "an answer") << size;
  }
  EXPECT_EQ(read(""), "it has 0 bytes");
}

TEST_F(PackedAnswerTest, WhateverWasChangedIsNoAnswer) {
  const std::string whole = packed();
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(read(changed), "it is not what was kept under this key") << at;
  }
}

TEST_F(PackedAnswerTest, AnotherKeysIsNoAnswer) {
  EXPECT_EQ(read(packed(), "other key"), "it is not what was kept under this key");
}

TEST_F(PackedAnswerTest, OneOfAnotherModelIsNoAnswer) {
  const std::string bytes = packed();
  request_->model = &catalog_.add_identity("other");
  EXPECT_EQ(read(bytes), "of model 'm' version 1");
}

TEST_F(PackedAnswerTest, ALargeOneIsNotWritten) {
  EXPECT_EQ(pack_answer(response_, model_.info(), "key", sizeof values_), std::nullopt);
}

}  // namespace
}  // namespace atl::caches
