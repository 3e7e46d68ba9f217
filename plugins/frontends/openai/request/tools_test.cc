#include "frontends/openai/request/tools.h"

#include <gtest/gtest.h>

#include <string>

#include "atoll/core/text.h"

namespace atl::frontends::openai {
namespace {

constexpr std::string_view kTools =
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","required":["a"]}}},)"
    R"({"type":"function","function":{"name":"g"}}])";

struct ReadTools {
  GenerationRequest request;
  std::string param;
};

ReadTools tools_of(const std::string& body) {
  CheckedDocument document;
  document.Parse(body.c_str());
  Fields fields(document);
  ReadTools read;
  read_tools(fields, read.request);
  if (fields.failure()) read.param = fields.failure()->param;
  return read;
}
ReadTools with(const std::string& more) { return tools_of(cat("{", kTools, more, "}")); }

TEST(Tools, TheyMayBeCalledUnlessTheClientSaysOtherwise) {
  EXPECT_EQ(tools_of("{}").request.tools.choice, ToolUse::Choice::kNone);
  EXPECT_EQ(with("").request.tools.choice, ToolUse::Choice::kAuto);
  EXPECT_EQ(with(R"(,"tool_choice":"auto")").request.tools.choice, ToolUse::Choice::kAuto);
  const GenerationRequest none = with(R"(,"tool_choice":"none")").request;
  EXPECT_EQ(none.tools.choice, ToolUse::Choice::kNone);
  EXPECT_TRUE(none.chat_options.empty()) << "then the model is not told of them";
  EXPECT_EQ(object_of(with(R"(,"tool_choice":"auto")").request.chat_options),
            cat("{", kTools, R"(,"tool_choice":"auto"})"));
}

TEST(Tools, CallsThatHaveToBeMadeFollowASchema) {
  const std::string f = R"({"type":"object","required":["a"]})";
  const auto item = [](std::string_view name, std::string_view parameters) {
    return cat(R"({"type":"object","properties":{"name":{"type":"string","enum":[")", name,
               R"("]},"parameters":)", parameters, R"(},"required":["name","parameters"]})");
  };
  const std::string items =
      cat(R"("items":{"anyOf":[)", item("f", f), ",", item("g", R"({"type":"object"})"), "]}}");
  EXPECT_EQ(with(R"(,"tool_choice":"required")").request.tools.schema,
            cat(R"({"type":"array","minItems":1,)", items));
  EXPECT_EQ(with(R"(,"tool_choice":"required","parallel_tool_calls":false)").request.tools.schema,
            cat(R"({"type":"array","minItems":1,"maxItems":1,)", items));
  const ToolUse named = with(R"(,"tool_choice":{"type":"function","function":{"name":"f"}})").request.tools;
  EXPECT_EQ(named.choice, ToolUse::Choice::kNamed);
  EXPECT_EQ(named.schema, f);
  EXPECT_EQ(named.names, (std::vector<std::string>{"f"}));
}

TEST(Tools, WhatIsWrongIsNamed) {
  EXPECT_EQ(tools_of(R"({"tools":5})").param, "tools");
  EXPECT_EQ(tools_of(R"({"tools":[5]})").param, "tools[0].type");
  EXPECT_EQ(tools_of(R"({"tools":[{"type":"web_search"}]})").param, "tools[0].type");
  EXPECT_EQ(tools_of(R"({"tools":[{"type":"function"}]})").param, "tools[0].function.name");
  EXPECT_EQ(tools_of(R"({"tools":[{"type":"function","function":{"name":"a b"}}]})").param,
            "tools[0].function.name");
  EXPECT_EQ(tools_of(R"({"tools":[{"type":"function","function":{"name":"a","parameters":[]}}]})").param,
            "tools[0].function.parameters");
  EXPECT_EQ(with(R"(,"tool_choice":"any")").param, "tool_choice");
  EXPECT_EQ(with(R"(,"tool_choice":{"type":"function","function":{"name":"h"}})").param, "tool_choice");
  EXPECT_EQ(tools_of(R"({"tool_choice":"required"})").param, "tool_choice");
  EXPECT_EQ(with(R"(,"parallel_tool_calls":1)").param, "parallel_tool_calls");
}

}  // namespace
}  // namespace atl::frontends::openai
