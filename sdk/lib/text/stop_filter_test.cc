#include "atoll/lib/stop_filter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "atoll/core/utf8.h"
#include "atoll/testing/random.h"

namespace atl {
namespace {

TEST(StopFilter, WhatMayBecomeAStopStringIsHeldBack) {
  StopFilter filter({"END", "\n\n"});
  EXPECT_EQ(filter.add("a E"), "a ");
  EXPECT_EQ(filter.add("N"), "");
  EXPECT_EQ(filter.add("C\n"), "ENC");
  EXPECT_EQ(filter.add("b"), "\nb");
  EXPECT_EQ(filter.add("E"), "");
  EXPECT_EQ(filter.finish(), "E");
  EXPECT_FALSE(filter.is_stopped());
}

TEST(StopFilter, NothingComesFromTheFirstStopStringOn) {
  StopFilter filter({"END", "D"});
  EXPECT_EQ(filter.add("abENDxD"), "ab");
  EXPECT_TRUE(filter.is_stopped());
  EXPECT_EQ(filter.add("more"), "");
  EXPECT_EQ(filter.finish(), "");
}

TEST(StopFilter, CharactersAreNotCut) {
  StopFilter filter({});
  EXPECT_EQ(filter.add("\xe2\x82"), "");
  EXPECT_EQ(filter.add("\xac\xf0\x9f"), "\xe2\x82\xac");
  EXPECT_EQ(filter.add("\x98\x80"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(filter.add("\x80\x80"), "\x80\x80") << "nobody waits for the beginning of what has none";
  EXPECT_EQ(filter.add("x\xc3"), "x");
  EXPECT_EQ(filter.finish(), "\xc3") << "the end is all that there is";
}

TEST(StopFilter, TheOneThatIsWholeFirstCounts) {
  StopFilter text({"bcd", "ab"}, false);
  EXPECT_EQ(text.add("xabcd"), "x");
  StopFilter other({"cd", "bcd"}, true);
  EXPECT_EQ(other.add("abcde"), "abcd");
}

TEST(StopFilter, WithoutLookingStopsAreText) {
  StopFilter text({"x"}, false);
  EXPECT_EQ(text.add("axb", false), "axb");
  EXPECT_EQ(text.add("cxd", true), "c");
  EXPECT_TRUE(text.is_stopped());
}

/// Whatever the pieces are: the text up to the first stop string, and no piece ends inside a character.
TEST(StopFilter, PiecesMakeNoDifference) {
  test::Random random(7);
  for (int round = 0; round < 2000; ++round) {
    constexpr std::string_view kParts[] = {"a", "b", "ab", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    const auto any = [&](int parts) {
      std::string text;
      for (int i = 0; i < parts; ++i) text += kParts[random.below(std::size(kParts))];
      return text;
    };
    const std::string whole = any(20);
    const std::vector<std::string> stops = {any(2), any(3)};
    std::string expected = whole;  // as it is when the first stop string is whole
    for (size_t size = 1; size <= whole.size() && expected.size() == whole.size(); ++size) {
      for (const std::string& stop : stops) {
        if (whole.substr(0, size).ends_with(stop))
          expected.resize(std::min(expected.size(), size - stop.size()));
      }
    }
    StopFilter filter(stops);
    std::string got;
    for (size_t at = 0; at < whole.size();) {
      const size_t size = 1 + random.below(5);
      const std::string piece = filter.add(std::string_view(whole).substr(at, size));
      EXPECT_TRUE(is_utf8(piece));
      got += piece;
      at += size;
    }
    got += filter.finish();
    ASSERT_EQ(got, expected) << whole << " | " << stops[0] << " | " << stops[1];
  }
}

}  // namespace
}  // namespace atl
