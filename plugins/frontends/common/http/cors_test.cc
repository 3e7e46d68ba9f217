#include "frontends/common/http/cors.h"

#include <gtest/gtest.h>

namespace atl::frontends::http {
namespace {

CorsPolicy policy(const std::vector<std::string>& origins) { return CorsPolicy::parse(origins).value(); }

struct Judged {
  bool is_preflight = false;
  std::string lines;
};

Judged judge(const CorsPolicy& policy, std::string_view method, std::vector<HeaderField> fields) {
  RequestHead head;
  head.method = method;
  head.fields = std::move(fields);
  Judged judged;
  judged.is_preflight = policy.judge(head, &judged.lines);
  return judged;
}

TEST(CorsPolicy, IsOffUntilAnOriginIsNamed) {
  EXPECT_FALSE(CorsPolicy().is_active());
  EXPECT_FALSE(policy({}).is_active());
  EXPECT_TRUE(policy({"null"}).is_active());
  EXPECT_TRUE(policy({"*"}).is_active());
}

TEST(CorsPolicy, AnOriginIsAsBrowsersSendIt) {
  for (const char* origin : {"https://app.example", "http://127.0.0.1:8080", "http://[::1]:80", "null", "*"})
    EXPECT_TRUE(CorsPolicy::parse({origin}).ok()) << origin;
  for (const char* origin :
       {"", "app.example", "https://", "://a", "https://a/", "https://a/b", "https://*.a",
        "https://A.example", "https://a b", "https://a\r\nX: 1", "HTTPS://a"}) {
    const auto parsed = CorsPolicy::parse({origin});
    ASSERT_FALSE(parsed.ok()) << origin;
    EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
    EXPECT_NE(parsed.status().text().find("cors_allowed_origins"), std::string::npos);
  }
}

TEST(CorsPolicy, AnAllowedOriginMayReadTheAnswer) {
  const Judged judged = judge(policy({"http://a", "http://b"}), "POST", {{"oRIGIN", "http://b"}});
  EXPECT_FALSE(judged.is_preflight);
  EXPECT_EQ(judged.lines,
            "Vary: Origin\r\nAccess-Control-Allow-Origin: http://b\r\n"
            "Access-Control-Expose-Headers: Inference-Header-Content-Length, Retry-After\r\n");
}

TEST(CorsPolicy, OthersGetNothingThatAllowsThem) {
  EXPECT_EQ(judge(policy({"http://a"}), "POST", {{"Origin", "http://a.b"}}).lines, "Vary: Origin\r\n");
  EXPECT_EQ(judge(policy({"http://a"}), "POST", {}).lines, "Vary: Origin\r\n");
  const Judged preflight =
      judge(policy({"http://a"}), "OPTIONS", {{"Origin", "null"}, {"Access-Control-Request-Method", "POST"}});
  EXPECT_FALSE(preflight.is_preflight);
  EXPECT_EQ(preflight.lines, "Vary: Origin\r\n");
}

TEST(CorsPolicy, APreflightIsToldWhatMayBeSent) {
  const Judged judged = judge(policy({"*"}), "OPTIONS",
                              {{"Origin", "http://x"},
                               {"Access-Control-Request-Method", "POST"},
                               {"Access-Control-Request-Headers", "content-type,x-key"}});
  EXPECT_TRUE(judged.is_preflight);
  EXPECT_EQ(judged.lines,
            "Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Methods: GET, POST\r\n"
            "Access-Control-Max-Age: 86400\r\nAccess-Control-Allow-Headers: content-type,x-key\r\n");
}

TEST(CorsPolicy, OptionsWithoutAMethodIsNoPreflight) {
  EXPECT_FALSE(judge(policy({"*"}), "OPTIONS", {{"Origin", "http://x"}}).is_preflight);
  EXPECT_FALSE(
      judge(policy({"*"}), "GET", {{"Origin", "http://x"}, {"Access-Control-Request-Method", "POST"}})
          .is_preflight);
}

}  // namespace
}  // namespace atl::frontends::http
