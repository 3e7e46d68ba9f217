#include "frontends/http/management/base64.h"

#include <gtest/gtest.h>

namespace atl::frontends::http {
namespace {

std::string decoded(std::string_view text) {
  std::string bytes;
  EXPECT_TRUE(decode_base64(text, &bytes)) << text;
  return bytes;
}

TEST(Base64, DecodesWhatClientsSend) {
  EXPECT_EQ(decoded(""), "");
  EXPECT_EQ(decoded("TQ=="), "M");
  EXPECT_EQ(decoded("TWE="), "Ma");
  EXPECT_EQ(decoded("TWFu"), "Man");
  EXPECT_EQ(decoded("AAEC/+8="), std::string("\0\1\2\xff\xef", 5));
}

TEST(Base64, LineBreaksAndMissingPaddingAreFine) {
  EXPECT_EQ(decoded("TW\nFu\r\nTW\tE ="), "ManMa");
  EXPECT_EQ(decoded("TQ"), "M");
  EXPECT_EQ(decoded("TWE"), "Ma");
}

TEST(Base64, RefusesEverythingElse) {
  for (std::string_view text :
       {"!", "TWF-", "TW_u", "T", "TWFuT", "TQ==TQ==", "TWE==", "T\xC3\xA4", "data:,TWFu"}) {
    std::string bytes;
    EXPECT_FALSE(decode_base64(text, &bytes)) << text;
  }
}

}  // namespace
}  // namespace atl::frontends::http
