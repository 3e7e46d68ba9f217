#include "atoll/lib/entry_name.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(EntryName, BlanksAreTakenOffBothEnds) {
  EXPECT_EQ(without_blanks(" \t a b\r\n"), "a b");
  EXPECT_EQ(without_blanks("a"), "a");
  EXPECT_EQ(without_blanks(" \t\r\n\v\f"), "");
  EXPECT_EQ(without_blanks(""), "");
}

TEST(EntryName, SomeLeaveTheDirectory) {
  for (const char* name : {".", "..", " ..", ". ", "\t..\n", "a/b", "/", "../a", "a/", "a/.."})
    EXPECT_TRUE(leaves_directory(name)) << name;
  for (const char* name : {"", " ", "a", ".a", "..a", "a..", "...", ". .", "a.b"})
    EXPECT_FALSE(leaves_directory(name)) << name;
}

}  // namespace
}  // namespace atl
