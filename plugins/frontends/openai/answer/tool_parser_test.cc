#include "frontends/openai/answer/tool_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/testing/random.h"

namespace atl::frontends::openai {
namespace {

/// Texts as they are, calls as f(arguments): "say f({}) more".
std::string shown(const std::vector<AnswerPart>& parts) {
  std::string text;
  bool is_open = false;
  for (const AnswerPart& part : parts) {
    if (part.kind != AnswerPart::Kind::kArguments && std::exchange(is_open, false)) text += ")";
    text += part.text;
    if (part.kind == AnswerPart::Kind::kCall) text += "(";
    is_open = is_open || part.kind == AnswerPart::Kind::kCall;
  }
  return is_open ? text + ")" : text;
}

std::string parsed(std::string_view text, ToolParser::Options options, size_t piece) {
  ToolParser parser(std::move(options));
  std::vector<AnswerPart> parts;
  for (size_t at = 0; at < text.size(); at += piece) parser.add(text.substr(at, piece), parts);
  parser.finish(parts);
  uint32_t calls = 0;
  for (const AnswerPart& part : parts) {
    EXPECT_FALSE(part.text.empty());
    calls += part.kind == AnswerPart::Kind::kCall ? 1 : 0;
    EXPECT_EQ(part.call + (part.kind == AnswerPart::Kind::kText ? 0 : 1),
              part.kind == AnswerPart::Kind::kText ? 0 : calls);
  }
  EXPECT_EQ(parser.calls(), calls);
  return shown(parts);
}

void expect(ToolSyntax syntax, std::string_view text, std::string_view wanted) {
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, text.size() + 1})
    EXPECT_EQ(parsed(text, {syntax, {"f", "g"}, false}, piece), wanted) << text << " by " << piece;
}

TEST(ToolParser, AMarkCountsBehindAnObjectThatIsNoCall) {
  expect(ToolSyntax::kLlama3, R"({"name":"unknown","parameters":{<|python_tag|>{"name":"g"})",
         R"({"name":"unknown","parameters":{g({}))");
}

TEST(ToolParser, Hermes) {
  const auto hermes = [](std::string_view text, std::string_view wanted) {
    expect(ToolSyntax::kHermes, text, wanted);
  };
  hermes("Hello <tool> <tool_cal", "Hello <tool> <tool_cal");
  hermes(R"(<tool_call>
{"name": "f", "arguments": {"a": 1}}
</tool_call>
<tool_call>{"name": "g", "arguments": {}}</tool_call>)",
         R"(f({"a": 1})g({}))");
  hermes("I look. \n\n<tool_call>{\"name\":\"x\"}</tool_call>\nDone.\n", "I look.x({})\nDone.");
  hermes("<tool_call>{\"name\":\"f\",\"arguments\":{}}}</tool_call>", "f({})");
  hermes("<tool_call>{\"name\":\"f\",\"arguments\":{}}\n{\"name\":\"g\",\"arguments\":{}}</tool_call>",
         "f({})g({})");
  hermes("<tool_call>no</tool_call>", "<tool_call>no</tool_call>");
  hermes("<tool_call>{\"nam\":1}</tool_call>", "<tool_call>{\"nam\":1}</tool_call>");
  hermes("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\": [1", "f({\"a\": [1)");
  hermes("<tool_call>{\"name\":\"f\"", "<tool_call>{\"name\":\"f\"");
  hermes("<tool_call>", "<tool_call>");
  hermes(" \n", " \n");
}

TEST(ToolParser, Llama3) {
  const auto llama = [](std::string_view text, std::string_view wanted) {
    expect(ToolSyntax::kLlama3, text, wanted);
  };
  llama(R"({"name": "f", "parameters": {"a": 1}})", R"(f({"a": 1}))");
  llama("\n{\"name\":\"f\",\"parameters\":{}}; {\"name\":\"g\",\"parameters\":{\"b\":2}}\n",
        "f({})g({\"b\":2})");
  llama("<|python_tag|>{\"name\":\"new\",\"parameters\":{}}", "new({})");
  llama("Say <|python_tag|>{\"name\":\"f\",\"parameters\":{}}", "Sayf({})");
  llama("<|python_tag|>print(1)", "<|python_tag|>print(1)");
  // JSON that is an answer.
  llama(R"({"name": "f", "age": 5})", R"({"name": "f", "age": 5})");
  llama(R"({"name": "other", "parameters": {"a": 1}} )", R"({"name": "other", "parameters": {"a": 1}} )");
  llama(" hello {\"name\":\"f\",\"parameters\":{}}", " hello {\"name\":\"f\",\"parameters\":{}}");
}

TEST(ToolParser, Mistral) {
  const auto mistral = [](std::string_view text, std::string_view wanted) {
    expect(ToolSyntax::kMistral, text, wanted);
  };
  mistral(R"([TOOL_CALLS] [{"name": "f", "arguments": {"a": [1]}}, {"name": "g", "arguments": {}}])",
          R"(f({"a": [1]})g({}))");
  mistral(R"(So: [TOOL_CALLS]{"name":"f","arguments":{}})", "So:f({})");
  mistral(R"([TOOL_CALLS] [] [1])", R"([TOOL_CALLS] [] [1])");
  mistral(R"([TOOL_CALLS] [{"name":"f","arguments":{}}] and more)", "f({}) and more");
}

TEST(ToolParser, CallsThatASchemaMakes) {
  expect(ToolSyntax::kList, R"([{"name": "f", "parameters": {"a": 1}},{"name":"g","parameters":{}}])",
         R"(f({"a": 1})g({}))");
  expect(ToolSyntax::kList, "nothing", "nothing");
  expect(ToolSyntax::kArguments, R"( {"a": {"b": "}"}}
)",
         R"(f({"a": {"b": "}"}}))");
  expect(ToolSyntax::kArguments, "sorry", "sorry");
  expect(ToolSyntax::kArguments, "{\"a\":", "f({\"a\":)");
}

TEST(ToolParser, OneCallIsEnough) {
  ToolParser parser({ToolSyntax::kHermes, {}, true});
  std::vector<AnswerPart> parts;
  parser.add("<tool_call>{\"name\":\"f\",\"arguments\":{}", parts);
  EXPECT_FALSE(parser.is_done());
  parser.add("}</tool_call><tool_call>{\"name\":\"g\"}</tool_call>", parts);
  EXPECT_TRUE(parser.is_done());
  parser.finish(parts);
  EXPECT_EQ(shown(parts), "f({})");
}

TEST(ToolParser, ArgumentsGoOutAsTheyCome) {
  ToolParser parser({ToolSyntax::kHermes, {}, false});
  std::vector<AnswerPart> parts;
  parser.add("<tool_call>{\"name\":\"f\",\"arguments\":{\"text\":\"abc", parts);
  EXPECT_EQ(shown(parts), "f({\"text\":\"abc)");
  parser.add("def", parts);
  EXPECT_EQ(shown(parts), "f({\"text\":\"abcdef)");
}

/// Whatever a model writes, and however it is cut, the parts are the same, and nothing breaks.
TEST(ToolParser, PiecesMakeNoDifference) {
  test::Random random(11);
  constexpr std::string_view kParts[] = {"<tool_call>",
                                         "</tool_call>",
                                         "<|python_tag|>",
                                         "[TOOL_CALLS]",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         "\"name\":\"f\"",
                                         ",",
                                         "\"arguments\":",
                                         "\"parameters\":",
                                         "{\"a\":\"\\\"\"}",
                                         " ",
                                         "\n",
                                         "text",
                                         ";",
                                         "\"",
                                         "{\"name\":\"f\",\"arguments\":",
                                         "null",
                                         "1"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (uint64_t parts = random.below(12); parts > 0; --parts)
      text += kParts[random.below(std::size(kParts))];
    for (const ToolSyntax syntax : {ToolSyntax::kHermes, ToolSyntax::kLlama3, ToolSyntax::kMistral,
                                    ToolSyntax::kList, ToolSyntax::kArguments}) {
      const ToolParser::Options options{syntax, {"f"}, false};
      const std::string whole = parsed(text, options, text.size() + 1);
      ASSERT_EQ(parsed(text, options, 1), whole) << text;
      ASSERT_EQ(parsed(text, options, 1 + random.below(6)), whole) << text;
    }
  }
}

}  // namespace
}  // namespace atl::frontends::openai
