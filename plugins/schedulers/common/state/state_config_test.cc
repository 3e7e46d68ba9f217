#include "schedulers/common/state/state_config.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "atoll/testing/temporary_directory.h"
#include "atoll/testing/tensor_bytes.h"
#include "model_config.pb.h"

namespace atl::schedulers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StateConfig : public ::testing::Test {
 protected:
  Result<StateLayout> read(const std::string& states, int max_batch_size = 0) {
    inference::ModelConfig config;
    const std::string text =
        cat("name: 'm' max_batch_size: ", max_batch_size, " sequence_batching { ", states, " }");
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
    return state_layout_from(config, folder_.path());
  }
  /// A state of one entry whose initial value is in the file "start".
  Result<StateLayout> read_file(const std::string& content, const std::string& type,
                                const std::string& dims) {
    std::filesystem::create_directories(folder_.path() / "initial_state");
    std::ofstream(folder_.path() / "initial_state" / "start", std::ios::binary) << content;
    return read(cat("state { input_name: 'I' output_name: 'O' data_type: ", type,
                    " dims: -1 initial_state { data_type: ", type, " dims: ", dims,
                    " name: 'n' data_file: 'start' } }"));
  }
  static std::string data_of(const Result<StateLayout>& read) {
    const StateLayout& layout = read.value();
    const auto& data = layout.entries()[0].tensor.initial_data;
    return {reinterpret_cast<const char*>(data.data()), data.size()};
  }
  std::string path() const { return folder_.path() / "initial_state" / "start"; }

  test::TemporaryDirectory folder_;
};

TEST_F(StateConfig, AModelWithoutStateHasNone) {
  EXPECT_TRUE(read("")->empty());
  EXPECT_TRUE(state_layout_from({}, "")->empty());
}

TEST_F(StateConfig, EntriesAreAsTheyAreWritten) {
  auto layout = read(R"(
    state { input_name: 'I' output_name: 'O' data_type: TYPE_FP32 dims: [ 2, -1 ]
            use_same_buffer_for_input_output: true use_growable_memory: true }
    state { input_name: 'A' output_name: 'Z' data_type: TYPE_STRING dims: -1
            initial_state { data_type: TYPE_STRING dims: 5 name: 'n' zero_data: true } })",
                     8);
  ASSERT_TRUE(layout.ok()) << layout.status().message();
  ASSERT_EQ(layout->entries().size(), 2u);
  const StateLayout::Entry& first = layout->entries()[0];
  const StateLayout::Entry& second = layout->entries()[1];
  EXPECT_EQ(layout->model_name(), "m");
  EXPECT_EQ(first.tensor.input_name, "I");
  EXPECT_EQ(first.tensor.output_name, "O");
  EXPECT_EQ(first.tensor.datatype, DataType::kFp32);
  EXPECT_TRUE(first.tensor.same_buffer && first.tensor.growable);
  EXPECT_THAT(first.initial_shape, ElementsAre(1, 2, 1)) << "a row of a batch; what is variable is 1";
  EXPECT_EQ(first.initial_size_bytes, 8u);
  EXPECT_EQ(second.tensor.output_name, "Z");
  EXPECT_FALSE(second.tensor.same_buffer || second.tensor.growable);
  EXPECT_THAT(second.initial_shape, ElementsAre(1, 5)) << "the dims of initial_state";
  EXPECT_EQ(second.initial_size_bytes, 20u) << "texts of no length";
}

TEST_F(StateConfig, AFileGivesTheFirstValue) {
  const std::string values = test::bytes_of<int32_t>({7, 8, 9});
  auto layout = read_file(values, "TYPE_INT32", "3");
  ASSERT_TRUE(layout.ok()) << layout.status().message();
  EXPECT_EQ(data_of(layout), values);
  EXPECT_THAT(layout->entries()[0].initial_shape, ElementsAre(3));
  layout = read_file(values, "TYPE_INT32", "2");
  ASSERT_TRUE(layout.ok()) << layout.status().message();
  EXPECT_EQ(data_of(layout), values.substr(0, 8)) << "the first bytes of a file that is larger";
}

TEST_F(StateConfig, AFileGivesTexts) {
  const std::string texts = test::encode_bytes_tensor({"one", "", "three"});
  auto layout = read_file(texts, "TYPE_STRING", "3");
  ASSERT_TRUE(layout.ok()) << layout.status().message();
  EXPECT_EQ(data_of(layout), texts);
  EXPECT_EQ(layout->entries()[0].initial_size_bytes, texts.size());
  EXPECT_EQ(data_of(read_file(texts, "TYPE_STRING", "2")), test::encode_bytes_tensor({"one", ""}));
  EXPECT_EQ(read_file(texts, "TYPE_STRING", "4").status().message(),
            cat("file '", path(),
                "' of the initial state 'I': found 20 bytes, expected 4 texts, of which it has 3"));
  EXPECT_EQ(read_file(texts.substr(0, 19), "TYPE_STRING", "3").status().message(),
            cat("file '", path(),
                "' of the initial state 'I': found 19 bytes, expected 3 texts, of which it has 2"));
}

TEST_F(StateConfig, AFileThatIsTooSmallIsRefused) {
  const Status status = read_file("1234567", "TYPE_INT32", "2").status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            cat("file '", path(), "' of the initial state 'I': found 7 bytes, expected 8 bytes"));
  EXPECT_EQ(read_file("1234567", "TYPE_INT32", "2000000000000000000").status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(read_file("1234567", "TYPE_INT32", "9000000000000000000").status().code(),
            Code::kInvalidArgument);
}

TEST_F(StateConfig, WhatIsMissingHasItsPath) {
  (void)read_file("1234", "TYPE_INT32", "1").ok();
  for (bool folder : {false, true}) {
    std::filesystem::remove_all(path());
    if (folder) std::filesystem::create_directories(path());
    const Status status = read(R"(state { input_name: 'I' output_name: 'O' data_type: TYPE_INT32 dims: 1
        initial_state { data_type: TYPE_INT32 dims: 1 name: 'n' data_file: 'start' } })")
                              .status();
    EXPECT_EQ(status.code(), Code::kNotFound);
    EXPECT_THAT(std::string(status.message()), HasSubstr(path()));
  }
}

TEST_F(StateConfig, WhatContradictsItselfIsRefused) {
  for (const char* states :
       {"state { input_name: 'I' output_name: 'O' dims: 1 }",
        "state { input_name: 'I' output_name: 'O' data_type: TYPE_INT32 dims: [ 4000000000, 4000000000 ] }",
        "state { input_name: 'I' output_name: 'O' data_type: TYPE_INT32 dims: 2"
        " initial_state { data_type: TYPE_INT32 dims: 3 name: 'n' zero_data: true } }",
        "state { input_name: 'I' output_name: 'O' data_type: TYPE_INT32 dims: 2 }"
        "state { input_name: 'I' output_name: 'P' data_type: TYPE_INT32 dims: 2 }",
        "state { input_name: 'I' output_name: 'O' data_type: TYPE_INT32 dims: 2 }"
        "state { input_name: 'J' output_name: 'O' data_type: TYPE_INT32 dims: 2 }"}) {
    EXPECT_EQ(read(states).status().code(), Code::kInvalidArgument) << states;
  }
}

}  // namespace
}  // namespace atl::schedulers
