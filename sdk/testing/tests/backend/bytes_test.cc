#include "atoll/backend/bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "atoll/testing/recording_sink.h"

namespace atl::backends {
namespace {

using test::TestRequest;
using Texts = std::vector<std::string>;

TEST(InputTexts, AreReadAcrossBuffers) {
  const Texts sent = {"one", "", std::string("t\0o", 3), std::string(1000, 'x')};
  const std::string bytes = test::encode_bytes_tensor(sent);
  for (size_t cut = 1; cut < 24; ++cut) {
    TestRequest request("r");
    request.add_raw_input("X", DataType::kBytes, {2, 2}, bytes, {cut, cut, cut + 3}, 1);
    Result<Texts> texts = input_texts(*request, "X");
    ASSERT_TRUE(texts.ok()) << texts.status().text();
    EXPECT_EQ(*texts, sent);
  }
}

TEST(InputTexts, RefusesBytesThatAreNotTheElementsOfTheShape) {
  struct Case {
    std::vector<int64_t> shape;
    std::string bytes;
    const char* text;
  };
  const std::string one = test::encode_bytes_tensor({"one"});
  for (const Case& wrong :
       {Case{{2}, one, "input 'X': element 1 of 2: found 0 bytes, expected the 4 bytes of its length"},
        Case{
            {1}, one.substr(0, 6), "input 'X': element 0 of 1: found 2 bytes, expected 3 as its length says"},
        Case{{1}, one + "more", "input 'X': found 4 bytes after the last of its 1 elements, expected none"},
        Case{{int64_t{1} << 60}, "", "input 'X': element 0 of 1152921504606846976: found 0 bytes"},
        Case{{-1}, "", "input 'X' has the shape [-1]"}}) {
    TestRequest request("r");
    request.add_raw_input("X", DataType::kBytes, wrong.shape, wrong.bytes);
    Status status = input_texts(*request, "X").status().clone();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.text().substr(0, std::string_view(wrong.text).size()), wrong.text);
  }
  TestRequest request("r");
  request.add_raw_input("X", DataType::kInt8, {1}, "1");
  EXPECT_EQ(input_texts(*request, "Y").status().text(), "input 'Y' is missing");
  EXPECT_EQ(input_texts(*request, "X").status().text(), "input 'X' has type INT8, expected BYTES");
}

TEST(InputTexts, RefusesGpuMemory) {
  TestRequest request("r");
  InputTensor& input = request.add_raw_input("X", DataType::kBytes, {1}, test::encode_bytes_tensor({"a"}));
  Buffer gpu = input.buffers[0];
  gpu.kind = MemoryKind::kGpu;
  input.buffers = {&gpu, 1};
  EXPECT_NE(input_texts(*request, "X").status().text().find("memory of GPU 0"), std::string::npos);
}

TEST(EncodeTexts, IsWhatIsReadAgain) {
  const Texts texts = {"one", "", std::string(300, 'y')};
  std::string bytes(encoded_size_bytes(texts), '.');
  EXPECT_EQ(bytes.size(), 3 * 4 + 303u);
  Buffer to;
  to.data = bytes.data();
  to.size_bytes = bytes.size();
  ASSERT_TRUE(encode_texts(texts, to).ok());
  EXPECT_EQ(bytes, test::encode_bytes_tensor(texts));
  ASSERT_TRUE(encode_texts(std::vector<const char*>{"a"}, to).ok());
  EXPECT_EQ(bytes.substr(0, 5), std::string("\1\0\0\0a", 5));
}

TEST(EncodeTexts, DoesNotWriteBeyondTheBuffer) {
  std::string bytes = "........";
  Buffer to;
  to.data = bytes.data();
  to.size_bytes = 6;
  EXPECT_EQ(encode_texts(Texts{"abc"}, to).text(), "found a buffer of 6 bytes, expected 7");
  EXPECT_EQ(bytes, "........");
}

}  // namespace
}  // namespace atl::backends
