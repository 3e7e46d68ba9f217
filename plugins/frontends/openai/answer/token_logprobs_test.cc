#include "frontends/openai/answer/token_logprobs.h"

#include <gtest/gtest.h>

#include <string>

namespace atl::frontends::openai {
namespace {

std::vector<TokenLogprob> tokens_of(std::string_view json) {
  Result<std::vector<TokenLogprob>> read = read_logprobs(json);
  EXPECT_TRUE(read.ok()) << json;
  return read.ok() ? std::move(read).value() : std::vector<TokenLogprob>();
}

constexpr std::string_view kTwo =
    R"([{"token":"\u00e9","id":5,"logprob":-0.5,"bytes":[195,169],"top":[{"token":"a","id":1,"logprob":-1.25,"bytes":[97]}]},)"
    R"({"token":"b\"","logprob":-1e300,"bytes":null}])";

TEST(TokenLogprobs, AreWrittenAsBothApisHaveThem) {
  TokenQueue queue;
  queue.add(tokens_of(kTwo));
  const std::vector<TokenLogprob> tokens = queue.take(4);
  std::string chat, completion;
  append_chat_logprobs(chat, tokens);
  append_completion_logprobs(completion, tokens);
  EXPECT_EQ(
      chat,
      "{\"content\":[{\"token\":\"\xc3\xa9\",\"logprob\":-0.5,\"bytes\":[195,169],\"top_logprobs\":"
      "[{\"token\":\"a\",\"logprob\":-1.25,\"bytes\":[97]}]},"
      "{\"token\":\"b\\\"\",\"logprob\":-9999,\"bytes\":[98,34],\"top_logprobs\":[]}],\"refusal\":null}");
  EXPECT_EQ(completion,
            "{\"tokens\":[\"\xc3\xa9\",\"b\\\"\"],\"token_logprobs\":[-0.5,-9999],"
            "\"top_logprobs\":[{\"a\":-1.25},{}],\"text_offset\":[0,1]}");
}

TEST(TokenLogprobs, GoWithTheirText) {
  TokenQueue queue;
  queue.add(tokens_of(kTwo));
  EXPECT_EQ(queue.take(1).size(), 0u) << "half of its first";
  EXPECT_EQ(queue.take(3).size(), 1u);
  EXPECT_EQ(queue.take(3).size(), 0u);
  EXPECT_EQ(queue.finish(3).size(), 1u) << "its first byte is in the text";
  queue.add(tokens_of(R"([{"token":"x","logprob":0}])"));
  EXPECT_EQ(queue.finish(4).size(), 0u) << "a stop string has cut it off";
}

TEST(TokenLogprobs, OtherOutputsAreErrors) {
  for (const std::string_view json :
       {"", "{}", "[5]", "[{}]", R"([{"token":5}])", R"([{"token":"a","bytes":[256]}])",
        R"([{"token":"a","bytes":"a"}])", R"([{"token":"a","top":[5]}])"}) {
    EXPECT_FALSE(read_logprobs(json).ok()) << json;
  }
}

}  // namespace
}  // namespace atl::frontends::openai
