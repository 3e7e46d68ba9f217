#include "backends/llamacpp/text/stop_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "atoll/core/utf8.h"
#include "atoll/testing/random.h"

namespace atl::llamacpp {
namespace {

TEST(StopText, HoldsBackWhatMayBecomeAStop) {
  StopText text({"STOP"}, false);
  EXPECT_EQ(text.add("abcST"), "abc");
  EXPECT_EQ(text.add("A"), "STA");
  EXPECT_EQ(text.add("STO"), "");
  EXPECT_EQ(text.add("Pxyz"), "");
  EXPECT_TRUE(text.is_stopped());
  EXPECT_EQ(text.finish(), "");
}

TEST(StopText, TheOneThatIsWholeFirstCounts) {
  StopText text({"bcd", "ab"}, false);
  EXPECT_EQ(text.add("xabcd"), "x");
  StopText other({"cd", "bcd"}, true);
  EXPECT_EQ(other.add("abcde"), "abcd");
}

TEST(StopText, HeldBackTextComesAtTheEnd) {
  StopText text({"STOP"}, false);
  EXPECT_EQ(text.add("aSTO"), "a");
  EXPECT_EQ(text.finish(), "STO");
}

TEST(StopText, WithoutLookingStopsAreText) {
  StopText text({"x"}, false);
  EXPECT_EQ(text.add("axb", false), "axb");
  EXPECT_EQ(text.add("cxd", true), "c");
  EXPECT_TRUE(text.is_stopped());
}

TEST(StopText, PartsOfCharactersAreHeldBack) {
  StopText text({}, false);
  EXPECT_EQ(text.add("\xE2\x82"), "");
  EXPECT_EQ(text.add("\xAC\xF0\x9F"), "\xE2\x82\xAC");
  EXPECT_EQ(text.add("x"), "\xEF\xBF\xBD\xEF\xBF\xBDx");
  EXPECT_EQ(text.add("\xC3"), "");
  EXPECT_EQ(text.finish(), "\xEF\xBF\xBD");
}

/// However a text is cut into pieces, what goes out is what the whole text gives.
TEST(StopText, AnyCutGivesTheSame) {
  atl::test::Random random(3);
  const std::string letters[] = {"a", "b", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x99\x82", "\xFF"};
  for (int round = 0; round < 3000; ++round) {
    std::string whole;
    for (uint64_t n = random.below(12); n > 0; --n) whole += letters[random.below(6)];
    std::vector<std::string> stops;
    for (uint64_t n = random.below(3); n > 0; --n) {
      std::string stop;
      for (uint64_t m = 1 + random.below(3); m > 0; --m) stop += letters[random.below(5)];
      stops.push_back(stop);
    }
    // The oracle: the stop that ends first, of those the one that begins first.
    size_t end = std::string::npos, begin = whole.size();
    for (const std::string& stop : stops) {
      const size_t at = whole.find(stop);
      if (at == std::string::npos) continue;
      if (at + stop.size() < end || (at + stop.size() == end && at < begin)) {
        end = at + stop.size();
        begin = at;
      }
    }
    const std::string expected = replace_invalid_utf8(whole.substr(0, begin));
    StopText text(stops, false);
    std::string out;
    for (size_t at = 0; at < whole.size();) {
      const size_t size = 1 + random.below(4);
      const std::string piece = text.add(whole.substr(at, size));
      EXPECT_TRUE(is_utf8(piece));
      out += piece;
      at += size;
    }
    out += text.finish();
    ASSERT_EQ(out, expected) << "round " << round;
    EXPECT_EQ(text.is_stopped(), end != std::string::npos);
  }
}

}  // namespace
}  // namespace atl::llamacpp
