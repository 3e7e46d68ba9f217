#include "repositories/s3/object_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "atoll/testing/temporary_directory.h"

namespace atl::s3 {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A model with one version of one file.
StoreModel model_of(uint64_t size, const std::string& etag = "e") {
  StoreModel model;
  model.objects = {{"1/weights", etag, "", size}, {"config.pbtxt", "c", "", 1}};
  model.bytes = size + 1;
  return model;
}

class ObjectCacheTest : public ::testing::Test {
 protected:
  std::shared_ptr<ObjectCache> open(uint64_t bytes_max = 100) {
    auto cache = ObjectCache::open(root_.path() / "cache", bytes_max);
    EXPECT_TRUE(cache.ok());
    return cache.ok() ? std::move(cache).value() : nullptr;
  }
  /// As a download does it.
  static void fill(const MissingObject& object) {
    write(object, object.size);
    ASSERT_TRUE(ObjectCache::complete(object).ok());
  }
  static void write(const MissingObject& object, size_t size) {
    std::ofstream(object.part) << std::string(size, 'x');
  }
  static std::shared_ptr<const CachedModel> make(ObjectCache& cache, const std::string& place,
                                                 const StoreModel& model) {
    auto draft = cache.begin(place, model.identity(place), model);
    if (!draft.ok() || !draft->has_value()) return nullptr;
    for (const MissingObject& object : (*draft)->missing) fill(object);
    auto made = cache.finish(std::move(**draft), model);
    return made.ok() ? std::move(made).value() : nullptr;
  }
  static bool has(ObjectCache& cache, const std::string& place, const StoreModel& model) {
    auto found = cache.find(model.identity(place), model);
    return found.ok() && found.value() != nullptr;
  }
  size_t count(const std::string& folder) const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(root_.path() / "cache" / folder), fs::directory_iterator()));
  }
  test::TemporaryDirectory root_;
};

TEST_F(ObjectCacheTest, AModelAppearsWhenItIsWhole) {
  const auto cache = open();
  const StoreModel model = model_of(10);
  EXPECT_FALSE(has(*cache, "p", model));
  auto draft = cache->begin("p", model.identity("p"), model);
  ASSERT_TRUE(draft.ok() && draft->has_value());
  ASSERT_EQ((*draft)->missing.size(), 2u);
  EXPECT_FALSE(ObjectCache::complete((*draft)->missing[0]).ok()) << "nothing of it is there yet";
  fill((*draft)->missing[0]);
  EXPECT_FALSE(has(*cache, "p", model));
  fill((*draft)->missing[1]);
  EXPECT_FALSE(has(*cache, "p", model));
  const auto made = cache->finish(std::move(**draft), model);
  ASSERT_TRUE(made.ok()) << made.status().text();
  EXPECT_TRUE(has(*cache, "p", model));
  EXPECT_EQ(fs::file_size(cache->find(model.identity("p"), model).value()->path() + "/1/weights"), 10u);
  EXPECT_TRUE(has(*open(), "p", model)) << "another server";
}

TEST_F(ObjectCacheTest, OneMakesItAndOthersWait) {
  const auto cache = open();
  const StoreModel model = model_of(10);
  auto draft = cache->begin("p", model.identity("p"), model);
  ASSERT_TRUE(draft.ok() && draft->has_value());
  EXPECT_FALSE(open()->begin("p", model.identity("p"), model)->has_value());
  EXPECT_TRUE(open()->begin("q", model.identity("q"), model)->has_value()) << "of another repository";
}

TEST_F(ObjectCacheTest, WhatIsThereIsNotAskedForAgain) {
  const auto cache = open();
  ASSERT_NE(make(*cache, "p", model_of(10)), nullptr);
  const StoreModel next = model_of(10, "other");
  {
    auto draft = cache->begin("p", next.identity("p"), next);
    ASSERT_TRUE(draft.ok() && draft->has_value());
    ASSERT_EQ((*draft)->missing.size(), 1u) << "the configuration is the same";
    write((*draft)->missing[0], 3);
  }
  auto draft = cache->begin("p", next.identity("p"), next);
  ASSERT_TRUE(draft.ok() && draft->has_value());
  EXPECT_EQ(fs::file_size((*draft)->missing[0].part), 3u) << "a part is gone on with";
}

TEST_F(ObjectCacheTest, TheOldestThatNobodyServesGoes) {
  const auto cache = open(100);
  const StoreModel model = model_of(39);
  ASSERT_NE(make(*cache, "a", model), nullptr);
  auto held = make(*cache, "b", model);
  ASSERT_NE(held, nullptr);
  ASSERT_NE(make(*cache, "c", model), nullptr) << "a goes for it";
  EXPECT_FALSE(has(*cache, "a", model));
  EXPECT_TRUE(has(*cache, "b", model));
  EXPECT_TRUE(has(*cache, "c", model));
  ASSERT_NE(make(*cache, "d", model), nullptr) << "c goes, as b is served though older";
  EXPECT_TRUE(has(*cache, "b", model));
  EXPECT_FALSE(has(*cache, "c", model));
  const auto second = cache->find(model.identity("d"), model);
  const auto refused = cache->begin("e", model.identity("e"), model);
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("there is no room for 40 bytes more: of 100"));
  EXPECT_EQ(count("objects"), 4u) << "what was refused took no room";
  held = nullptr;
  EXPECT_NE(make(*cache, "e", model), nullptr);
  const StoreModel large = model_of(100);
  EXPECT_THAT(cache->begin("l", large.identity("l"), large).status().message(),
              HasSubstr("'cache_size' allows 100"));
}

TEST_F(ObjectCacheTest, WhatIsUnderWayTakesItsWholeRoom) {
  const auto cache = open(100);
  const StoreModel model = model_of(59);
  {
    auto draft = cache->begin("a", model.identity("a"), model);
    ASSERT_TRUE(draft.ok() && draft->has_value());
    EXPECT_EQ(cache->begin("b", model.identity("b"), model).status().code(), Code::kResourceExhausted);
  }
  EXPECT_NE(make(*cache, "b", model), nullptr) << "the other one was given up";
  EXPECT_EQ(count("objects"), 2u);
}

TEST_F(ObjectCacheTest, PartsOfWhatTheStoreHadBeforeGo) {
  const auto cache = open(100);
  const StoreModel before = model_of(59), after = model_of(60, "other");
  ASSERT_TRUE(cache->begin("p", before.identity("p"), before).ok());
  ASSERT_NE(make(*cache, "p", after), nullptr);
  EXPECT_EQ(count("objects"), 2u);
}

TEST_F(ObjectCacheTest, WhatSomebodyChangedIsMadeAgain) {
  const auto cache = open();
  const StoreModel model = model_of(10);
  std::string path = make(*cache, "p", model)->path();
  fs::remove(path + "/1/weights");
  EXPECT_FALSE(has(*cache, "p", model));
  ASSERT_NE(make(*cache, "p", model), nullptr);
  const auto held = cache->find(model.identity("p"), model);
  fs::remove(path + "/1/weights");
  EXPECT_THAT(cache->find(model.identity("p"), model).status().message(),
              HasSubstr("is damaged, and in use"));
}

TEST_F(ObjectCacheTest, EmptyFoldersAreMade) {
  const auto cache = open();
  StoreModel model;
  model.folders = {"1", "2/deep"};
  const auto made = make(*cache, "p", model);
  ASSERT_NE(made, nullptr);
  EXPECT_TRUE(fs::is_directory(made->path() + "/2/deep"));
}

TEST_F(ObjectCacheTest, ListingsAreKept) {
  const auto cache = open();
  int64_t age = -1;
  EXPECT_FALSE(cache->kept_listing("p", &age).has_value());
  ASSERT_TRUE(cache->keep_listing("p", "[]").ok());
  ASSERT_TRUE(cache->keep_listing("p", "").ok()) << "it is current";
  EXPECT_EQ(cache->kept_listing("p", &age), "[]");
  EXPECT_GE(age, 0);
  EXPECT_FALSE(cache->keep_listing("q", "").ok());
}

TEST_F(ObjectCacheTest, APlaceThatCannotBeWrittenIsNamed) {
  std::ofstream(root_.path() / "file");
  const auto cache = ObjectCache::open(root_.path() / "file", 0);
  EXPECT_THAT(cache.status().text(), HasSubstr("file"));
}

}  // namespace
}  // namespace atl::s3
