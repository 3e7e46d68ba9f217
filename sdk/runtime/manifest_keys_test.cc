#include "atoll/runtime/manifest_keys.h"

#include <gtest/gtest.h>

namespace atl::runtime {
namespace {

TEST(ManifestKeys, AreTomlWhateverTheTextsHold) {
  ManifestKeys keys;
  keys.set("b", true);
  keys.set("a", int64_t{-5});
  keys.set("c", 7.5);
  keys.set("a.text", "say \"\\\" \n\x7f\xc3\xa4");
  keys.add("list", "x");
  keys.add("list", "y, z");
  keys.set("other", std::vector<std::string>{"one"});
  keys.set("other", std::vector<std::string>{"two"});
  keys.put("table", "n.k", "1");
  keys.put("table", "n.k", "2");
  keys.put("table", "a", "3");
  EXPECT_EQ(keys.overrides(),
            (std::vector<std::string>{"a.text=\"say \\\"\\\\\\\" \\u000A\\u007F\xc3\xa4\"", "a=-5", "b=true",
                                      "c=7.5", "list=[\"x\", \"y, z\"]", "other=[\"two\"]",
                                      "table={\"a\" = \"3\", \"n.k\" = \"2\"}"}));
}

TEST(ManifestKeys, AreGivenWithTheirValues) {
  ManifestKeys keys;
  keys.set("a", true);
  keys.add("b", "x");
  EXPECT_EQ(keys.toml(), (std::map<std::string, std::string>{{"a", "true"}, {"b", "[\"x\"]"}}));
}

}  // namespace
}  // namespace atl::runtime
