#include "frontends/common/call/header_forward.h"

#include <gtest/gtest.h>

#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {
namespace {

HeaderForward compiled(std::string_view pattern) {
  Result<HeaderForward> forward = HeaderForward::compile(pattern);
  EXPECT_TRUE(forward.ok()) << forward.status().text();
  return std::move(forward).value();
}

TEST(HeaderForward, ForwardsNothingWithoutAPattern) {
  for (const HeaderForward& forward : {HeaderForward(), compiled("")}) {
    EXPECT_FALSE(forward.active());
    EXPECT_FALSE(forward.matches(""));
    EXPECT_FALSE(forward.matches("my-header"));
  }
}

TEST(HeaderForward, MatchesAnywhereInTheNameWithoutRegardToCase) {
  HeaderForward forward = compiled("tenant");
  EXPECT_TRUE(forward.active());
  for (const char* name : {"tenant", "x-tenant-id", "X-TENANT", "TeNaNts"}) {
    EXPECT_TRUE(forward.matches(name)) << name;
  }
  for (const char* name : {"", "tena nt", "x-user"}) EXPECT_FALSE(forward.matches(name)) << name;
  EXPECT_TRUE(compiled("^(x-a|x-b)$").matches("X-B"));
  EXPECT_FALSE(compiled("^(x-a|x-b)$").matches("x-bb"));
  EXPECT_TRUE(compiled(".*").matches(""));
}

TEST(HeaderForward, APatternCanAskForCase) {
  HeaderForward forward = compiled("(?-i)Tenant");
  EXPECT_TRUE(forward.matches("X-Tenant"));
  EXPECT_FALSE(forward.matches("x-tenant"));
}

TEST(HeaderForward, NamesOfAnyBytesAreHandled) {
  HeaderForward forward = compiled("x");
  EXPECT_FALSE(forward.matches("\xFF\xFE\x80"));
  EXPECT_TRUE(forward.matches(std::string_view("\0x", 2)));
  EXPECT_TRUE(forward.matches(std::string(100'000, 'a') + "x"));
}

TEST(HeaderForward, APatternThatCanNotBeCompiledIsRefused) {
  Result<HeaderForward> forward = HeaderForward::compile("x-(");
  ASSERT_FALSE(forward.ok());
  EXPECT_EQ(forward.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(forward.status().message(),
            "option 'header_forward_pattern' is 'x-(', expected a regular expression in RE2 syntax: "
            "missing ): x-(");
  for (const char* pattern : {"[", "*", "a{1001}", "(?=x)", "\xFF", "((a{100}){100}){100}"}) {
    EXPECT_FALSE(HeaderForward::compile(pattern).ok()) << pattern;
  }
}

TEST(HeaderForward, KnowsTheReservedNames) {
  for (const char* name :
       {"sequence_id", "sequence_start", "sequence_end", "priority", "timeout", "headers",
        "binary_data_output", "triton_", "triton_enable_empty_final_response", "Priority", "TRITON_x"}) {
    EXPECT_TRUE(HeaderForward::reserved(name)) << name;
  }
  for (const char* name : {"", "sequence", "sequence_id2", "triton", "triton-x", "x-triton_", "timeouts"}) {
    EXPECT_FALSE(HeaderForward::reserved(name)) << name;
  }
  EXPECT_EQ(messages::reserved_header("priority"),
            "Header 'priority' is reserved for Triton usage and cannot be forwarded.");
}

TEST(HeaderForward, KnowsWhatSaysWhoCalls) {
  for (const char* name :
       {"authorization", "Authorization", "COOKIE", "proxy-authorization", "X-Forwarded-Client-Cert"})
    EXPECT_TRUE(HeaderForward::is_credential(name)) << name;
  for (const char* name : {"", "x-authorization", "authorizations", "cookies", "x-request-id"})
    EXPECT_FALSE(HeaderForward::is_credential(name)) << name;
}

}  // namespace
}  // namespace atl::frontends
