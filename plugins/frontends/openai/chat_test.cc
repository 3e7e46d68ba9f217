#include "frontends/openai/chat.h"

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
  EXPECT_EQ(chat_of(R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})").param,
            "messages[0].content");
  const ReadChat image =
      chat_of(R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})");
  EXPECT_EQ(image.param, "messages[0].content");
  EXPECT_EQ(image.code, "not_supported");
  EXPECT_EQ(chat_of(R"({"messages":[{"role":"assistant","tool_calls":[{}]}]})").param,
            "messages[0].tool_calls");
}

}  // namespace
}  // namespace atl::frontends::openai
