#include "backends/onnxruntime/ort_api.h"

#include <gtest/gtest.h>

#include "backends/onnxruntime/testing/library_in_use.h"

namespace atl::ort {
namespace {

std::string message(const std::string& text) {
  test::use_library();
  return std::string(check(api().CreateStatus(ORT_FAIL, text.c_str())).message());
}

TEST(OrtStatusTest, IsOneLine) {
  EXPECT_EQ(message(" a\n\tb  c\r\n"), "a b c");
  EXPECT_TRUE(check(nullptr).ok());
}

TEST(OrtStatusTest, LongOnesAreCutBetweenWords) {
  const std::string word(500, 'w');
  EXPECT_EQ(message(word + " " + word + " " + word), word + " " + word + " ...");
  EXPECT_EQ(message(std::string(2000, 'w')), std::string(1024, 'w') + " ...");
}

TEST(OrtStatusTest, HoldsNoPathsOfItsBuild) {
  EXPECT_EQ(message("Status Message: /src/core/framework/op_kernel.h:42 Input(int) Missing: x"),
            "Status Message: op_kernel.h:42 Input(int) Missing: x");
  EXPECT_EQ(message("/onnxruntime_src/core/graph/model.cc:181 no ir_version"), "model.cc:181 no ir_version");
  EXPECT_EQ(message("Load model from /srv/models/m/1/model.onnx failed: 5:30"),
            "Load model from /srv/models/m/1/model.onnx failed: 5:30");
}

}  // namespace
}  // namespace atl::ort
