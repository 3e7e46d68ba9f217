#include "telemetry/audit/audit_line.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "atoll/core/clock.h"
#include "atoll/lib/checked_document.h"

namespace atl::audit {
namespace {

constexpr int64_t kTime = 1767225600 * kNsPerSecond + 7 * kNsPerMs;

rapidjson::Document parsed(const std::string& line) {
  EXPECT_EQ(line.back(), '\n');
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  EXPECT_TRUE(std::all_of(line.begin(), line.end() - 1, [](unsigned char c) {
    return c >= 0x20 && c != 0x7F;
  })) << line;
  rapidjson::Document document;
  document.Parse(line.data(), line.size());
  EXPECT_FALSE(document.HasParseError()) << line;
  return document;
}

TEST(AuditLine, HasEveryMember) {
  AuditedCall call;
  call.protocol = CallProtocol::kHttp;
  call.category = ApiCategory::kInference;
  call.category_name = "inference";
  call.method = "POST";
  call.path = "/v2/models/m/infer";
  call.request_id = "r1";
  call.peer = "ipv4:192.0.2.1:5000";
  call.subject = "alice";
  call.tenant = "blue";
  call.source = "keys";
  call.model = "m";
  call.version = "2";
  call.status = 200;
  call.duration_ns = 1234567;
  EXPECT_EQ(audit_line(call, kTime),
            R"({"time":"2026-01-01T00:00:00.007Z","decision":"allowed","protocol":"http",)"
            R"("method":"POST /v2/models/m/infer","category":"inference","subject":"alice","tenant":"blue",)"
            R"("source":"keys","peer":"ipv4:192.0.2.1:5000","request_id":"r1","model":"m","version":"2",)"
            R"("rule":"","reason":"","status":200,"ms":1.234})"
            "\n");
  call.protocol = CallProtocol::kGrpc;
  call.method = {};
  call.path = "/inference.GRPCInferenceService/ModelInfer";
  call.rule = "inference@m";
  const auto line = parsed(audit_line(call, kTime));
  EXPECT_STREQ(line["method"].GetString(), "/inference.GRPCInferenceService/ModelInfer");
  EXPECT_STREQ(line["decision"].GetString(), "denied");
  EXPECT_STREQ(line["protocol"].GetString(), "grpc");
}

TEST(AuditLine, TextsOfClientsStayInTheirPlace) {
  AuditedCall call;
  using namespace std::string_literals;
  const std::string lying = "m\"}\n{\"decision\":\"allowed\"}\r\x1b[2J\x7f\0\xff"s;
  call.model = lying;
  const auto line = parsed(audit_line(call, kTime));
  EXPECT_EQ(line.MemberCount(), parsed(audit_line({}, kTime)).MemberCount());
  const std::string model = line["model"].GetString();
  EXPECT_EQ(model.substr(0, 5), "m\"}\n{");
}

TEST(AuditLine, LongTextsAreCutBetweenCharacters) {
  AuditedCall call;
  std::string name = "m";
  for (int i = 0; i < 100000; ++i) name += "\xC3\xA9";
  call.model = call.path = call.subject = name;
  const std::string text = audit_line(call, kTime);
  EXPECT_LT(text.size(), 3000u);
  const std::string model = parsed(text)["model"].GetString();
  EXPECT_TRUE(model.ends_with("\xC3\xA9...")) << model.substr(model.size() - 8);
}

TEST(AuditLine, NoTokenStandsInIt) {
  AuditedCall call;
  const std::string key = "atk_ops_0123456789abcdef";
  const std::string jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl-_x";
  const std::string path = "/v2/models/" + key + "/infer";
  const std::string id = "a" + key + " " + jwt + "!";
  const std::string far = std::string(505, 'x') + key;
  call.path = path;
  call.request_id = id;
  call.model = far;
  call.reason = key;
  const std::string text = audit_line(call, kTime);
  const auto line = parsed(text);
  EXPECT_STREQ(line["method"].GetString(), "/v2/models/[redacted]/infer");
  EXPECT_STREQ(line["request_id"].GetString(), "a[redacted] [redacted]!");
  EXPECT_STREQ(line["reason"].GetString(), "[redacted]");
  EXPECT_EQ(text.find("atk_"), std::string::npos) << "cut after it was taken out, not before";
  EXPECT_EQ(text.find("eyJ"), std::string::npos);
}

TEST(AuditLine, SaysHowManyAreMissing) {
  EXPECT_EQ(dropped_line(12, kTime), "{\"time\":\"2026-01-01T00:00:00.007Z\",\"dropped\":12}\n");
}

}  // namespace
}  // namespace atl::audit
