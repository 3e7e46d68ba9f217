#include "repositories/s3/store_url.h"

#include <gtest/gtest.h>

namespace atl::s3 {
namespace {

TEST(StoreUrl, IsReadAsTritonWritesIt) {
  struct Case {
    const char* text;
    bool is_tls;
    const char* host;
    const char* bucket;
    const char* prefix;
  } cases[] = {{"s3://bucket", true, "", "bucket", ""},
               {"s3://bucket/", true, "", "bucket", ""},
               {"s3://bucket/a/b c//", true, "", "bucket", "a/b c"},
               {"s3://localhost:9000/bucket/a", false, "localhost:9000", "bucket", "a"},
               {"s3://http://store/bucket", false, "store", "bucket", ""},
               {"s3://https://store:443/my.bucket/a", true, "store:443", "my.bucket", "a"},
               {"s3://https://[::1]:9000/bucket", true, "[::1]:9000", "bucket", ""}};
  for (const Case& c : cases) {
    auto url = parse_store_url(c.text);
    ASSERT_TRUE(url.ok()) << c.text << ": " << url.status().text();
    EXPECT_EQ(url->is_tls, c.is_tls) << c.text;
    EXPECT_EQ(url->host, c.host) << c.text;
    EXPECT_EQ(url->bucket, c.bucket) << c.text;
    EXPECT_EQ(url->prefix, c.prefix) << c.text;
  }
  EXPECT_EQ(parse_store_url("s3://b/a//")->text, "s3://b/a");
}

TEST(StoreUrl, WhatLeadsNowhereIsRefused) {
  for (const char* text : {"s3://", "s3:///a", "s3://localhost:9000", "s3://localhost:9000/",
                           "s3://host:port/b", "s3://https:///b", "s3://b/../c", "s3://b/./c", "s3://b/a//c",
                           "s3://..", "s3://a b", "s3://https://h:1:2/b", "s3://b?x/c"}) {
    auto url = parse_store_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_NE(url.status().message().find("expected s3://BUCKET/PREFIX"), std::string::npos);
  }
  EXPECT_NE(parse_store_url("as://account/c").status().message().find("is not served"), std::string::npos);
}

TEST(StoreUrl, FoldersAreNone) {
  EXPECT_TRUE(is_store_url("gs://b"));
  EXPECT_FALSE(is_store_url("/srv/s3"));
  EXPECT_FALSE(is_store_url("s3"));
}

}  // namespace
}  // namespace atl::s3
