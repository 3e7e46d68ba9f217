#include "caches/redis/protocol.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/testing/random.h"

namespace atl::caches {
namespace {

using Kind = RedisReply::Kind;
using Replies = std::vector<std::pair<Kind, std::string>>;

TEST(RedisCommandTest, HasItsWordsWhateverIsInThem) {
  EXPECT_EQ(RedisCommand({"PING"}).bytes(), "*1\r\n$4\r\nPING\r\n");
  const std::string_view bytes("a\r\n\0b", 5);
  EXPECT_EQ(RedisCommand({"SET", bytes, ""}).bytes(),
            cat("*3\r\n$3\r\nSET\r\n$5\r\n", bytes, "\r\n$0\r\n\r\n"));
}

/// All replies of a text that comes in pieces of some bytes.
Status read(ReplyReader& reader, std::string_view text, size_t piece, Replies* replies) {
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    ATOLL_RETURN_IF_ERROR(reader.feed(text.substr(0, piece), [&](RedisReply& reply) {
      const bool has_text = reply.kind != Kind::kNil && reply.kind != Kind::kInteger;
      replies->emplace_back(reply.kind, has_text ? reply.text : "");
    }));
  }
  return {};
}

TEST(ReplyReaderTest, ReadsRepliesHoweverTheyAreCut) {
  const std::string text = "+OK\r\n$-1\r\n$5\r\na\r\n\tb\r\n-ERR no\r\n:42\r\n$0\r\n\r\n+PONG\r\n";
  const Replies expected = {{Kind::kStatus, "OK"},    {Kind::kNil, ""},     {Kind::kText, "a\r\n\tb"},
                            {Kind::kError, "ERR no"}, {Kind::kInteger, ""}, {Kind::kText, ""},
                            {Kind::kStatus, "PONG"}};
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    ReplyReader reader(64);
    Replies replies;
    ASSERT_TRUE(read(reader, text, piece, &replies).ok()) << piece;
    EXPECT_EQ(replies, expected) << piece;
  }
}

TEST(ReplyReaderTest, RefusesWhatIsNoReplyToItsCommands) {
  for (const char* text : {"*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*1000000000\r\n", "HTTP/1.1 400 Bad Request\r\n",
                           "$-5\r\n", "$9999999999999999999\r\n", "$a\r\n", "\r\n", "*0\r\n"}) {
    ReplyReader reader(1 << 20);
    Replies replies;
    const Status status = read(reader, text, 7, &replies);
    EXPECT_FALSE(status.ok()) << text;
  }
}

TEST(ReplyReaderTest, KeepsNoMoreThanWasAgreed) {
  ReplyReader reader(1024);
  Replies replies;
  const std::string text = "$1000000\r\n" + std::string(2000, 'x');
  const Status status = read(reader, text, 100, &replies);
  EXPECT_EQ(status.message(), "a reply of more than 1024 bytes");
  EXPECT_TRUE(replies.empty());
}

TEST(ReplyReaderTest, ManySmallRepliesAreNotOneLargeOne) {
  ReplyReader reader(1024);
  Replies replies;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "$100\r\n" + std::string(100, 'x') + "\r\n";
  EXPECT_TRUE(read(reader, text, 500, &replies).ok());
  EXPECT_EQ(replies.size(), 1000u);
}

TEST(ReplyReaderTest, SurvivesAnyBytes) {
  test::Random random(1);
  const std::string letters = "$*+-:0123456789\r\n\r\n\r\na";
  for (int i = 0; i < 20000; ++i) {
    ReplyReader reader(256);
    Replies replies;
    std::string text;
    for (uint64_t n = random.below(60); n > 0; --n) text += letters[random.below(letters.size())];
    (void)read(reader, text, 1 + random.below(20), &replies).ok();
  }
}

}  // namespace
}  // namespace atl::caches
