#include "frontends/common/grpc/status_text.h"

#include <gtest/gtest.h>

#include "atoll/testing/fake_clock.h"
#include "frontends/common/codec/wire_format.h"

namespace atl::frontends {
namespace {

TEST(ErrorText, ATextThatFitsIsLeftAlone) {
  for (const std::string& text : {std::string(), std::string("line 1\nline 2 %"), std::string(4095, 'x'),
                                  std::string(4096, 'x'), std::string(4096 / 3, '%')}) {
    EXPECT_EQ(shortened(text), text);
  }
}

TEST(ErrorText, ALongerTextIsCutAndSaysSo) {
  const std::string mark = " (shortened)";
  EXPECT_EQ(shortened(std::string(4097, 'x')), std::string(4096 - mark.size(), 'x') + mark);
  EXPECT_EQ(shortened(std::string(1'000'000, 'x')), std::string(4096 - mark.size(), 'x') + mark);
  // Each of these takes three bytes in the trailers.
  EXPECT_EQ(shortened(std::string(4096 / 3 + 1, '\n')), std::string((4096 - mark.size()) / 3, '\n') + mark);
}

TEST(ErrorText, ItIsNeverCutInsideACharacter) {
  for (size_t lead = 0; lead < 12; ++lead) {
    std::string text(lead, 'x');
    for (int i = 0; i < 2000; ++i) text += "\xF0\x9F\x98\x80";
    std::string result = shortened(text);
    EXPECT_TRUE(is_utf8(result)) << lead;
    EXPECT_TRUE(result.ends_with(" (shortened)"));
    EXPECT_GT(result.size(), 1300u);
  }
  EXPECT_EQ(shortened(std::string(10'000, '\x80')), " (shortened)") << "no character at all";
}

TEST(ErrorText, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(as_utf8(""), "");
  EXPECT_EQ(as_utf8("plain \xE2\x82\xAC"), "plain \xE2\x82\xAC");
  EXPECT_EQ(as_utf8("\xFF"), "?");
  EXPECT_EQ(as_utf8("a\xE2\x82"), "a??");
  EXPECT_EQ(as_utf8("\x80\xE2\x82\xAC\xC0\xAF!"),
            "?\xE2\x82\xAC?"
            "?!");
  EXPECT_EQ(as_utf8("\xED\xA0\x80"), "???") << "a surrogate";
  EXPECT_EQ(as_utf8(std::string("\0\xFE", 2)), std::string("\0?", 2));
}

TEST(ErrorText, WhenToTryAgainIsRoundedUpToSeconds) {
  const auto fields = retry_metadata(1001);
  EXPECT_EQ(fields[0].first, "retry-after");
  EXPECT_EQ(fields[0].second, "2");
  EXPECT_EQ(fields[1].first, "grpc-retry-pushback-ms");
  EXPECT_EQ(fields[1].second, "1001");
}

TEST(ErrorText, ACancelledRequestWhoseDeadlineHasPassedExceededIt) {
  test::FakeClock clock;
  clock.advance(100);
  const Status cancelled(Code::kCancelled, {});
  EXPECT_EQ(client_status(cancelled, clock.now_ns(), clock).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(client_status(cancelled, clock.now_ns(), clock).message(), "Deadline Exceeded");
  EXPECT_EQ(client_status(cancelled, clock.now_ns() + 1, clock).code(), Code::kCancelled);
  EXPECT_EQ(client_status(cancelled, 0, clock).code(), Code::kCancelled);
  EXPECT_EQ(client_status(Status(Code::kInternal, "x"), 1, clock).message(), "x");
}

}  // namespace
}  // namespace atl::frontends
