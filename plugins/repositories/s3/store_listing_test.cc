#include "repositories/s3/store_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::s3 {
namespace {

using ::testing::HasSubstr;

ListingPage page_of(const std::vector<std::string>& keys, const std::string& next = {}) {
  ListingPage page{.objects = {}, .next = next};
  for (const std::string& key : keys)
    page.objects.push_back({key, "\"e\"", "2026-01-02T03:04:05.000Z", key.ends_with('/') ? 0u : 5u});
  return page;
}
StoreListing listing_of(const std::vector<std::string>& keys, const std::string& prefix = {}) {
  ListingBuilder builder(prefix, 1000);
  EXPECT_TRUE(builder.add(page_of(keys)).ok());
  return builder.finish();
}

TEST(StoreListing, ModelsAreTheFirstPartsOfKeys) {
  const StoreListing listing = listing_of(
      {"p/README", "p/a/1/model.onnx", "p/a/config.pbtxt", "p/b/", "p/b/1/", "p/.hidden/1/x"}, "p");
  ASSERT_EQ(listing.models.size(), 2u);
  const StoreModel& a = listing.models.at("a");
  ASSERT_EQ(a.objects.size(), 2u);
  EXPECT_EQ(a.objects[0].path, "1/model.onnx");
  EXPECT_EQ(a.bytes, 10u);
  EXPECT_TRUE(a.has("config.pbtxt"));
  EXPECT_EQ(listing.models.at("b").folders, std::vector<std::string>{"1"});
  EXPECT_TRUE(listing.ignored.empty());
}

TEST(StoreListing, KeysThatCannotBeFilesMakeTheirModelUnusable) {
  std::string deep = "m";
  for (int i = 0; i < 40; ++i) deep += "/d";
  const std::string nul("m/1/a\0b", 7);
  for (const std::string& key : {std::string("m/../x"), std::string("m/1/../../x"), std::string("m//x"),
                                 std::string("m/1/./x"), nul, deep, "m/" + std::string(300, 'n')}) {
    const StoreListing listing = listing_of({key, "m/config.pbtxt"});
    EXPECT_THAT(listing.models.at("m").problem, HasSubstr("cannot be a file")) << key;
    EXPECT_EQ(listing.models.at("m").objects.size(), 1u);
  }
  EXPECT_THAT(listing_of({"m/1", "m/1/x"}).models.at("m").problem, HasSubstr("is an object and a folder"));
  EXPECT_THAT(listing_of({"m/1", "m/1/"}).models.at("m").problem, HasSubstr("is an object and a folder"));
  EXPECT_THAT(listing_of({"m/x", "m/x"}).models.at("m").problem, HasSubstr("twice"));
}

TEST(StoreListing, KeysOfNoModelAreLeftOut) {
  const StoreListing listing = listing_of({"/etc/passwd", "../x", "./x", " /x", "m/1/x"});
  EXPECT_EQ(listing.models.size(), 1u);
  EXPECT_EQ(listing.ignored.size(), 4u);
}

TEST(StoreListing, PagesAreNotTrusted) {
  ListingBuilder builder("p", 3);
  EXPECT_TRUE(builder.add(page_of({"p/a/1/x"}, "t")).ok());
  EXPECT_FALSE(builder.add(page_of({"p/a/1/y"}, "t")).ok()) << "the same page again";
  builder.reset();
  EXPECT_FALSE(builder.add(page_of({}, "t")).ok()) << "nothing, and more to come";
  builder.reset();
  EXPECT_THAT(builder.add(page_of({"q/a/1/x"})).message(), HasSubstr("not below"));
  builder.reset();
  EXPECT_TRUE(builder.add(page_of({"p/a/1/x", "p/a/1/y"}, "t")).ok());
  EXPECT_EQ(builder.add(page_of({"p/a/1/z", "p/a/1/w"}, "u")).code(), Code::kResourceExhausted);
}

TEST(StoreListing, StampsAndIdentityTellChanges) {
  const StoreModel before = listing_of({"m/1/x", "m/2/x", "m/config.pbtxt", "m/labels"}).models.at("m");
  StoreModel after = before;
  after.objects[1].etag = "\"other\"";
  const auto old_stamps = before.stamps("config.pbtxt"), new_stamps = after.stamps("config.pbtxt");
  ASSERT_EQ(old_stamps.size(), 4u);
  EXPECT_EQ(old_stamps[0].part, RepositoryStamp::Part::kVersion);
  EXPECT_EQ(old_stamps[1].version, 2);
  EXPECT_EQ(old_stamps[2].part, RepositoryStamp::Part::kConfiguration);
  EXPECT_EQ(old_stamps[3].part, RepositoryStamp::Part::kOther);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(old_stamps[i] == new_stamps[i], i != 1) << i;
  EXPECT_NE(before.identity("p"), after.identity("p"));
  EXPECT_NE(before.identity("p"), before.identity("q"));
  EXPECT_EQ(before.identity("p"),
            listing_of({"m/labels", "m/config.pbtxt", "m/2/x", "m/1/x"}).models.at("m").identity("p"));
}

TEST(StoreListing, IsKeptAsText) {
  const StoreListing listing = listing_of({"p/a/1/\"x\"", "p/b/1/"}, "p");
  auto again = parse_kept_listing(listing.to_json(), "p", 10);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(again->models.at("a").identity(""), listing.models.at("a").identity(""));
  EXPECT_EQ(again->models.at("b").folders, listing.models.at("b").folders);
  for (const char* text : {"", "{}", "[[]]", "[[1,2,3,4]]", "[[\"q/a/x\",\"\",\"\",1]]"}) {
    EXPECT_FALSE(parse_kept_listing(text, "p", 10).ok()) << text;
  }
  EXPECT_FALSE(parse_kept_listing(listing.to_json(), "p", 1).ok());
}

}  // namespace
}  // namespace atl::s3
