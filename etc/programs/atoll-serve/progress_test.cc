#include "progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::serve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ServeProgress, ALineForEachChange) {
  Progress progress(nullptr);
  EXPECT_THAT(progress.update(std::vector<IndexedModel>{{"a", "", "", ""}, {"b", "1", "LOADING", ""}}),
              ElementsAre("b: loading"));
  EXPECT_FALSE(progress.is_decided());
  EXPECT_THAT(progress.update(std::vector<IndexedModel>{{"a", "2", "READY", ""}, {"b", "1", "LOADING", ""}}),
              ElementsAre("a version 2: ready"));
  EXPECT_FALSE(progress.is_decided());
  const std::vector<IndexedModel> end = {{"a", "2", "READY", ""}, {"b", "1", "UNAVAILABLE", "no\nfile"}};
  EXPECT_THAT(progress.update(end), ElementsAre("b: failed: no\\nfile"));
  EXPECT_TRUE(progress.is_decided());
  EXPECT_EQ(progress.ready(), 1u);
  EXPECT_EQ(progress.failed(), 1u);
  EXPECT_EQ(progress.example(), "a");
  EXPECT_THAT(progress.update(end), IsEmpty());
}

TEST(ServeProgress, WhatIsMissingForManyIsSaidOnce) {
  Progress progress(nullptr);
  const std::string reason = "there is no engine, and it takes a long line to say how to get one";
  const std::vector<IndexedModel> models = {{"a", "1", "UNAVAILABLE", reason},
                                            {"b", "1", "UNAVAILABLE", "no file"},
                                            {"c", "2", "UNAVAILABLE", reason},
                                            {"d", "1", "UNAVAILABLE", "no file"}};
  EXPECT_THAT(progress.update(models),
              ElementsAre("a: failed: " + reason, "b: failed: no file",
                          "c version 2: failed for the same reason as a", "d: failed: no file"));
  EXPECT_THAT(progress.update(models), IsEmpty());
}

TEST(ServeProgress, OnlyModelsThatAreToBeLoadedCount) {
  const std::set<std::string> wanted = {"a", "none"};
  Progress progress(&wanted);
  EXPECT_THAT(progress.update(std::vector<IndexedModel>{{"a", "1", "READY", ""}, {"b", "", "", ""}}),
              ElementsAre("a: ready"));
  EXPECT_TRUE(progress.is_decided());
  EXPECT_EQ(progress.failed(), 1u) << "none is in no repository";
}

TEST(ServeIndex, IsRead) {
  auto models = read_index(R"([{"name":"a","version":"1","state":"READY"},{"name":"b","reason":7}])");
  ASSERT_TRUE(models.ok());
  ASSERT_EQ(models->size(), 2u);
  EXPECT_EQ((*models)[0].state, "READY");
  EXPECT_EQ((*models)[1].reason, "");
  for (const char* text : {"", "{", "{}", "[1]", "nonsense"}) EXPECT_FALSE(read_index(text).ok()) << text;
}

}  // namespace
}  // namespace atl::serve
