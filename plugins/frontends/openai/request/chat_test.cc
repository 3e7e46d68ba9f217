#include "frontends/openai/request/chat.h"

#include <gtest/gtest.h>

#include <string>

namespace atl::frontends::openai {
namespace {

struct ReadChat {
  std::string text, json, param, code;
};

ReadChat chat_of(const std::string& body) {
  CheckedDocument document;
  document.Parse(body.c_str());
  Fields fields(document);
  const auto messages = read_messages(fields);
  if (fields.failure()) return {{}, {}, fields.failure()->param, fields.failure()->code};
  return {chat_text(messages), chat_json(messages), {}, {}};
}

TEST(Chat, MessagesBecomeTextOrJson) {
  const ReadChat chat = chat_of(R"({"messages":[{"role":"system","content":"be brief"},
                                         {"role":"user","content":[{"type":"text","text":"say "},{"type":"text","text":"\"hi\""}]},
                                         {"role":"assistant","content":null}]})");
  EXPECT_EQ(chat.text,
            "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nsay \"hi\"<|im_end|>\n"
            "<|im_start|>assistant\n<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(chat.json, R"([{"role":"system","content":"be brief"},{"role":"user","content":"say \"hi\""},)"
                       R"({"role":"assistant","content":""}])");
}

TEST(Chat, WhatIsNoChatIsNamed) {
  EXPECT_EQ(chat_of("{}").param, "messages");
  EXPECT_EQ(chat_of(R"({"messages":[]})").param, "messages");
  EXPECT_EQ(chat_of(R"({"messages":"hi"})").param, "messages");
  EXPECT_EQ(chat_of(R"({"messages":[1]})").param, "messages[0].role");
  EXPECT_EQ(chat_of(R"({"messages":[{"role":"user","content":"a"},{"role":"robot","content":"b"}]})").param,
            "messages[1].role");
  EXPECT_EQ(chat_of(R"({"messages":[{"role":"user","content":5}]})").param, "messages[0].content");
  for (const std::string role : {"system", "developer", "user", "tool"}) {
    EXPECT_EQ(chat_of(cat(R"({"messages":[{"role":")", role, R"("}]})")).param, "messages[0].content");
    EXPECT_EQ(chat_of(cat(R"({"messages":[{"role":")", role, R"(","content":null}]})")).param,
              "messages[0].content");
  }
  EXPECT_EQ(chat_of(R"({"messages":[{"role":"assistant"}]})").param, "");
  EXPECT_EQ(chat_of(R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})").param,
            "messages[0].content");
  const ReadChat image =
      chat_of(R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})");
  EXPECT_EQ(image.param, "messages[0].content");
  EXPECT_EQ(image.code, "not_supported");
}

TEST(Chat, CallsOfToolsAreKept) {
  const ReadChat chat = chat_of(R"({"messages":[{"role":"assistant","content":null,"tool_calls":
      [{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}},
       {"id":"c2","type":"function","function":{"name":"g","arguments":""}}]},
      {"role":"tool","tool_call_id":"c1","name":"f","content":"2"}]})");
  EXPECT_EQ(
      chat.json,
      R"([{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}},)"
      R"({"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]},)"
      R"({"role":"tool","content":"2","name":"f","tool_call_id":"c1"}])");
  EXPECT_EQ(chat.text,
            "<|im_start|>assistant\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"
            "\n<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call><|im_end|>\n"
            "<|im_start|>tool\n2<|im_end|>\n<|im_start|>assistant\n");
}

TEST(Chat, WrongCallsOfToolsAreNamed) {
  const auto param = [](const std::string& calls) {
    return chat_of(R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":)" + calls +
                   "}]}")
        .param;
  };
  EXPECT_EQ(param("{}"), "messages[1].tool_calls");
  EXPECT_EQ(param("[{}]"), "messages[1].tool_calls[0]");
  EXPECT_EQ(param("[5]"), "messages[1].tool_calls[0]");
  for (const char* arguments : {R"("{")", R"("[1]")", R"("{'a':1}")", R"({"a":1})", "5"}) {
    EXPECT_EQ(param(R"([{"function":{"name":"f","arguments":)" + std::string(arguments) + "}}]"),
              "messages[1].tool_calls[0].function.arguments")
        << arguments;
  }
}

}  // namespace
}  // namespace atl::frontends::openai
