#include "caches/triton/foreign_cache.h"

#include <gtest/gtest.h>

#include "atoll/core/text.h"
#include "atoll/testing/fake_log.h"
#include "atoll/triton/host.h"

namespace atl::caches {
namespace {

const std::string kFixtures = ATOLL_FIXTURE_CACHES;

class ForeignCacheTest : public ::testing::Test {
 protected:
  using Settings = std::map<std::string, std::string>;
  Result<std::unique_ptr<ForeignCache>> open(const std::string& name, const Settings& settings = {}) {
    return ForeignCache::open({name, {"/nonexistent", kFixtures, ATOLL_EXAMPLE_CACHES}, settings}, log_);
  }
  std::string why_not(const std::string& name, const Settings& settings = {}) {
    return open(name, settings).status().text();
  }
  std::string found(const Settings& settings) {
    auto cache = open("scripted", settings).value();
    EXPECT_TRUE(cache->insert("key", "bytes").ok());
    Result<std::string> bytes = cache->look_up("key");
    return bytes.ok() ? *bytes : bytes.status().text();
  }

  test::RecordingLog log_;
  triton::LogScope scope_{log_};
};

TEST_F(ForeignCacheTest, GivesWhatItKeeps) {
  for (const char* name : {"memory", "scripted"}) {
    auto cache = open(name).value();
    EXPECT_EQ(cache->look_up("one").status().code(), Code::kNotFound);
    EXPECT_TRUE(cache->insert("one", "first").ok());
    EXPECT_EQ(cache->insert("one", "second").code(), Code::kAlreadyExists);
    EXPECT_TRUE(cache->insert("two", std::string(100000, 'x')).ok());
    EXPECT_EQ(cache->look_up("one").value(), "first");
    EXPECT_EQ(cache->look_up("two").value(), std::string(100000, 'x'));
  }
}

TEST_F(ForeignCacheTest, TheOldestMakesWay) {
  auto cache = open("memory").value();
  for (int i = 0; i < 1001; ++i) EXPECT_TRUE(cache->insert(cat("key ", i), "x").ok());
  EXPECT_EQ(cache->look_up("key 0").status().code(), Code::kNotFound);
  EXPECT_TRUE(cache->look_up("key 1").ok());
  EXPECT_TRUE(cache->look_up("key 1000").ok());
}

TEST_F(ForeignCacheTest, SettingsAreAJsonObjectOfTexts) {
  { auto cache = open("scripted", {{"size", "1"}, {"text", "with \"quotes\""}}).value(); }
  EXPECT_TRUE(log_.contains(R"(config {"size":"1","text":"with \"quotes\""})"));
  EXPECT_TRUE(log_.contains("finalized"));
  EXPECT_FALSE(log_.contains("stays mapped"));
}

TEST_F(ForeignCacheTest, AFileThatIsNotThere) {
  EXPECT_EQ(why_not("none"),
            cat("unable to find 'libtritoncache_none.so' for cache. Searched: /nonexistent, ", kFixtures,
                ", ", ATOLL_EXAMPLE_CACHES));
  EXPECT_EQ(open("none").status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(open("../triton_caches/scripted").ok()) << "names lead nowhere else";
}

TEST_F(ForeignCacheTest, AnEntryPointThatIsNotThere) {
  EXPECT_EQ(
      why_not("no_insert"),
      cat("cache 'no_insert': unable to find required entrypoint 'TRITONCACHE_CacheInsert' in shared library: ",
          kFixtures, "/no_insert/libtritoncache_no_insert.so: undefined symbol: TRITONCACHE_CacheInsert"));
}

TEST_F(ForeignCacheTest, OneThatDoesNotBegin) {
  EXPECT_EQ(why_not("scripted", {{"fail", "initialize"}}), "cache 'scripted': the settings are wrong");
  EXPECT_EQ(why_not("scripted", {{"fail", "null"}}),
            "cache 'scripted': TRITONCACHE_CacheInitialize succeeded and gave no cache");
  EXPECT_FALSE(log_.contains("finalized"));
}

TEST_F(ForeignCacheTest, OneThatDoesNotEnd) {
  { auto cache = open("scripted", {{"fail", "finalize"}}).value(); }
  EXPECT_TRUE(log_.contains("failed finalizing the cache: it would not end"));
}

TEST_F(ForeignCacheTest, FailuresAreSaid) {
  EXPECT_EQ(found({{"lookup", "error"}}), "nothing is found today");
  EXPECT_EQ(found({{"lookup", "throw"}}), "it threw an exception: look-up");
  EXPECT_EQ(found({{"lookup", "nothing"}}), "it has found the key, and copied 0 buffers, expected 1");
  EXPECT_EQ(found({{"lookup", "two"}}), "it has found the key, and copied 2 buffers, expected 1");
  const auto inserted = [&](const char* how) {
    return open("scripted", {{"insert", how}}).value()->insert("key", "bytes").text();
  };
  EXPECT_EQ(inserted("error"), "nothing is kept today");
  EXPECT_EQ(inserted("throw"), "it threw an exception: insertion");
  EXPECT_EQ(inserted("nothing"), "it has kept the key, and did not copy what belongs to it");
}

}  // namespace
}  // namespace atl::caches
