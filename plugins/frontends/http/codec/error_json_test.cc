#include "frontends/http/codec/error_json.h"

#include <gtest/gtest.h>

#include "frontends/http/codec/json_document.h"

namespace atl::frontends::http {
namespace {

TEST(ErrorJson, HasTheProtocolsForm) {
  EXPECT_EQ(error_json("Method Not Allowed"), R"({"error":"Method Not Allowed"})");
  EXPECT_EQ(error_json(""), R"({"error":""})");
  EXPECT_EQ(error_json("a \"b\" \\ c\n\t\x01"), R"({"error":"a \"b\" \\ c\n\t\u0001"})");
  EXPECT_EQ(error_json("caf\xC3\xA9"), "{\"error\":\"caf\xC3\xA9\"}");
}

TEST(ErrorJson, AnyBytesGiveValidJson) {
  EXPECT_EQ(error_json("a\xff\xC3"), "{\"error\":\"a\xEF\xBF\xBD\xEF\xBF\xBD\"}");
  EXPECT_EQ(error_json("\xED\xA0\x80"), "{\"error\":\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"}");
  JsonDocument document;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const char bytes[] = {static_cast<char>(first), static_cast<char>(second)};
      ASSERT_TRUE(document.parse_unpadded(error_json({bytes, 2})).ok()) << first << " " << second;
    }
  }
}

}  // namespace
}  // namespace atl::frontends::http
