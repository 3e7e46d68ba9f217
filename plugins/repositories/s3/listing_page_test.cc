#include "repositories/s3/listing_page.h"

#include <gtest/gtest.h>

#include "atoll/core/text.h"

namespace atl::s3 {
namespace {

std::string content(const std::string& key, const std::string& size = "3",
                    const std::string& etag = "&quot;e&quot;") {
  return cat("<Contents><Key>", key, "</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>",
             etag, "</ETag><Size>", size, "</Size></Contents>");
}
std::string page(const std::string& inside) {
  return cat("<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">",
             inside, "</ListBucketResult>");
}

TEST(ListingPage, KeysSizesAndTagsAreRead) {
  auto read = parse_listing_page(
      page(cat("<IsTruncated>true</IsTruncated>", content("m/1/a &amp; b"), content("m/ x", "0"),
               "<NextContinuationToken>t==</NextContinuationToken>")));
  ASSERT_TRUE(read.ok()) << read.status().text();
  ASSERT_EQ(read->objects.size(), 2u);
  EXPECT_EQ(read->objects[0].key, "m/1/a & b");
  EXPECT_EQ(read->objects[0].etag, "\"e\"");
  EXPECT_EQ(read->objects[0].size, 3u);
  EXPECT_EQ(read->objects[0].modified, "2026-01-02T03:04:05.000Z");
  EXPECT_EQ(read->objects[1].key, "m/ x");
  EXPECT_EQ(read->next, "t==");
  EXPECT_EQ(parse_listing_page(page(""))->objects.size(), 0u);
}

TEST(ListingPage, WhatIsNoneIsRefused) {
  const std::string cases[] = {"",
                               "no xml",
                               "<html><body>proxy</body></html>",
                               "<ListBucketResult><Contents>",
                               page("<IsTruncated>true</IsTruncated>"),
                               page(content("")),
                               page(content(std::string(kKeyBytesMax + 1, 'k'))),
                               page(content("k", "-1")),
                               page(content("k", "")),
                               page(content("k", "99999999999999999999")),
                               page(content("k", "1", "a\nX-Injected: 1")),
                               page(content("k", "1", std::string(1000, 'e'))),
                               "<!DOCTYPE x [<!ENTITY a \"b\">]>" + page(content("&a;"))};
  for (const std::string& text : cases) EXPECT_FALSE(parse_listing_page(text).ok()) << text.substr(0, 200);
}

TEST(ListingPage, DeepNestingIsHarmless) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_FALSE(parse_listing_page(deep).ok());
}

TEST(ListingPage, RefusalsAreReadForPeople) {
  const StoreRefusal refusal = parse_store_refusal(
      "<Error><Code>AuthorizationHeaderMalformed</Code><Message>line\nline</Message><Region>eu-west-1</Region></Error>");
  EXPECT_EQ(refusal.code, "AuthorizationHeaderMalformed");
  EXPECT_EQ(refusal.message, "line?line");
  EXPECT_EQ(refusal.region, "eu-west-1");
  EXPECT_EQ(parse_store_refusal("<html>").code, "");
}

}  // namespace
}  // namespace atl::s3
