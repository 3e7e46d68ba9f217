#include "frontends/openai/answer/call_scanner.h"

#include <gtest/gtest.h>

#include <string>

namespace atl::frontends::openai {
namespace {

struct Scanned {
  CallScanner::State state = CallScanner::State::kReading;
  std::string name, arguments;
  size_t used = 0;
};

/// Byte by byte.
Scanned scan(std::string_view text, bool needs_arguments = false) {
  CallScanner scanner({.needs_arguments = needs_arguments});
  Scanned scanned;
  for (size_t used = 1;
       scanned.used < text.size() && used != 0 && scanned.state == CallScanner::State::kReading;
       scanned.used += used) {
    scanned.state = scanner.add(text.substr(scanned.used, 1), &used);
    scanned.arguments += scanner.take_arguments();
  }
  scanned.name = scanner.name();
  return scanned;
}

TEST(CallScanner, ACallIsRead) {
  for (
      const std::string_view text :
      {R"({"name":"f","arguments":{"a":"}\"{","b":[{}]}}rest)",
       R"( { "name" : "f" , "arguments" : {"a":"}\"{","b":[{}]} , "id":"x","n":[1,{"c":2}],"k":-1.5e3 } rest)",
       R"({"arguments":{"a":"}\"{","b":[{}]},"name":"f"}rest)",
       R"({"type":"function","name":"f","parameters":{"a":"}\"{","b":[{}]}}rest)",
       R"({"name":"\u0066","arguments":"{\"a\":\"}\\\"{\",\"b\":[{}]}"}rest)"}) {
    const Scanned scanned = scan(text);
    EXPECT_EQ(scanned.state, CallScanner::State::kEnded) << text;
    EXPECT_EQ(scanned.name, "f") << text;
    EXPECT_EQ(scanned.arguments, R"({"a":"}\"{","b":[{}]})") << text;
    EXPECT_EQ(text.substr(scanned.used).substr(0, 1), text.ends_with(" rest") ? " " : "r") << text;
  }
}

TEST(CallScanner, ArgumentsMayBeMissingBehindAMark) {
  EXPECT_EQ(scan(R"({"name":"f"})").state, CallScanner::State::kEnded);
  EXPECT_EQ(scan(R"({"name":"f"})", true).state, CallScanner::State::kNoCall);
  EXPECT_EQ(scan(R"({"name":"f","arguments":null})").arguments, "");
}

TEST(CallScanner, WhatIsNoCallIsSeen) {
  for (const std::string_view text :
       {"[", "{1", R"({"a"1)", R"({"name":5)", R"({"name":"")", R"({"name":"f","name":"g")",
        R"({"name":"f","arguments":[)", R"({"name":"f","arguments":5)", R"({"name":"f","arguments":true,)",
        R"({"name":"f" "a")", "{}", R"({"a":1})", R"({"arguments":{}})", R"({"a":Infinity)",
        R"({"arguments":"\x","name":"f")"}) {
    EXPECT_EQ(scan(text).state, CallScanner::State::kNoCall) << text;
  }
  EXPECT_EQ(scan("{\"" + std::string(100, 'k')).state, CallScanner::State::kNoCall);
  EXPECT_EQ(scan("{\"name\":\"" + std::string(1000, 'k')).state, CallScanner::State::kNoCall);
}

TEST(CallScanner, WhatHasToBeKeptIsBounded) {
  EXPECT_EQ(scan("{\"arguments\":{\"a\":\"" + std::string(2 << 20, 'k')).state, CallScanner::State::kNoCall);
  EXPECT_EQ(scan("{\"name\":\"f\",\"arguments\":{\"a\":\"" + std::string(2 << 20, 'k')).state,
            CallScanner::State::kReading)
      << "what is passed on at once need not be kept";
}

}  // namespace
}  // namespace atl::frontends::openai
