#include "repositories/s3/object_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/testing/fake_clock.h"
#include "repositories/s3/option_table.h"

namespace atl::s3 {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

test::FakeClock wall;

ObjectStore store_of(const std::string& url, StoreAccess access = {}) {
  if (access.credentials.region.empty()) access.credentials.region = "eu-west-1";
  auto parsed = parse_store_url(url);
  auto store = ObjectStore::make(std::move(parsed).value(), std::move(access), wall);
  EXPECT_TRUE(store.ok()) << url;
  return std::move(store).value();
}
std::string object_url(const std::string& url, StoreAccess access = {}) {
  return store_of(url, std::move(access)).object_request("m/1/a b", "", 0).url;
}

TEST(ObjectStore, TheBucketStandsWhereTheStoreWantsIt) {
  const StoreAccess path{.addressing = Addressing::kPath}, name{.addressing = Addressing::kVirtualHost};
  EXPECT_EQ(object_url("s3://bucket/p"), "https://bucket.s3.eu-west-1.amazonaws.com/p/m/1/a%20b");
  EXPECT_EQ(object_url("s3://bucket"), "https://bucket.s3.eu-west-1.amazonaws.com/m/1/a%20b");
  EXPECT_EQ(object_url("s3://my.bucket/p"), "https://s3.eu-west-1.amazonaws.com/my.bucket/p/m/1/a%20b");
  EXPECT_EQ(object_url("s3://bucket/p", path), "https://s3.eu-west-1.amazonaws.com/bucket/p/m/1/a%20b");
  EXPECT_EQ(object_url("s3://h:9000/bucket/p"), "http://h:9000/bucket/p/m/1/a%20b");
  EXPECT_EQ(object_url("s3://https://h:443/bucket/p", name), "https://bucket.h/p/m/1/a%20b");
  EXPECT_EQ(object_url("s3://bucket/p", {.endpoint = "http://h:1"}), "http://h:1/bucket/p/m/1/a%20b");
  EXPECT_FALSE(
      ObjectStore::make(std::move(parse_store_url("s3://b").value()), {.endpoint = "h/x"}, wall).ok());
}

TEST(ObjectStore, ListingsAskForWhatIsBelowThePrefix) {
  EXPECT_EQ(store_of("s3://h:1/bucket").list_request("").url, "http://h:1/bucket?list-type=2&max-keys=1000");
  EXPECT_EQ(store_of("s3://h:1/bucket/a/b").list_request("t=").url,
            "http://h:1/bucket?continuation-token=t%3D&list-type=2&max-keys=1000&prefix=a%2Fb%2F");
  EXPECT_EQ(store_of("s3://bucket").list_request("").url,
            "https://bucket.s3.eu-west-1.amazonaws.com/?list-type=2&max-keys=1000");
}

TEST(ObjectStore, RequestsAreSignedIfThereIsAKey) {
  const StoreAccess access{
      .credentials = {.key_id = "k", .secret = "s", .session_token = "t", .region = "r"}};
  const auto headers = store_of("s3://b", access).object_request("m/x", "\"e\"", 7).headers;
  EXPECT_THAT(headers, Contains("if-match: \"e\""));
  EXPECT_THAT(headers, Contains("range: bytes=7-"));
  EXPECT_THAT(headers,
              Contains(StartsWith("Authorization: AWS4-HMAC-SHA256 Credential=k/20010909/r/s3/aws4_request, "
                                  "SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date;"
                                  "x-amz-security-token, ")));
  EXPECT_THAT(store_of("s3://b").object_request("m/x", "", 0).headers,
              Not(Contains(StartsWith("Authorization"))));
}

TEST(ObjectStore, RefusalsSayWhatMayHelp) {
  HttpAnswer answer{.status = 403, .body = "<Error><Code>AccessDenied</Code><Message>no</Message></Error>"};
  EXPECT_THAT(store_of("s3://b/p").refusal(answer).text(),
              AllOf(HasSubstr("'s3://b/p': the store answers 403 AccessDenied: no"),
                    HasSubstr("requests are anonymous")));
  answer = {.status = 301, .body = "<Error><Code>PermanentRedirect</Code><Region>us-west-2</Region></Error>"};
  EXPECT_THAT(store_of("s3://b").refusal(answer).text(), HasSubstr("lies in the region 'us-west-2'"));
  answer = {.status = 502, .body = "<html>"};
  EXPECT_THAT(store_of("s3://b").refusal(answer).text(), HasSubstr("the store answers 502"));
  EXPECT_TRUE(is_transient(503) && is_transient(429) && !is_transient(403));
}

TEST(ObjectStore, PathsOfAManifestAreStoresOrFolders) {
  EXPECT_TRUE(check_paths({"s3://b/p", "/srv/models", "relative"}).ok());
  for (const char* path : {"", "s3://", "gs://b", "http://h/x"})
    EXPECT_FALSE(check_paths({path}).ok()) << path;
  EXPECT_FALSE(check_paths({}).ok());
}

}  // namespace
}  // namespace atl::s3
