#include "frontends/common/http/answer_writer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace atl::frontends::http {
namespace {

using Sent = AnswerWriter::Sent;
using Next = AnswerWriter::Next;

/// A writer and what its client has read.
class WritingAnswers : public ::testing::Test {
 protected:
  WritingAnswers() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets_) != 0)
      throw std::runtime_error("no sockets");
    to_ = ClientBytes(server());
  }
  ~WritingAnswers() override {
    for (const int fd : sockets_) ::close(fd);
  }

  void start(std::string_view method, int version, bool keeps_alive = true) {
    RequestHead head;
    head.method = method;
    head.version = version;
    writer_.start(head, keeps_alive);
  }
  void answer_text(std::string text) {
    ReplyHead head;
    head.content_length = text.size();
    writer_.begin(head, "X-Line: 1\r\n", Framing::kLength);
    writer_.add_text(std::move(text));
  }
  Sent send() {
    size_t bytes = 0;
    const Sent sent = writer_.send(to_, &bytes);
    sent_bytes_ += bytes;
    return sent;
  }
  std::string read() {
    std::string all;
    char room[4096];
    for (ssize_t count = 0; (count = ::recv(sockets_[1], room, sizeof room, 0)) > 0;)
      all.append(room, static_cast<size_t>(count));
    return all;
  }
  int server() const { return sockets_[0]; }

  int sockets_[2] = {-1, -1};
  ClientBytes to_{-1};
  AnswerWriter writer_;
  size_t sent_bytes_ = 0;
};

TEST_F(WritingAnswers, HeadLinesAndText) {
  start("GET", 11);
  answer_text("abc");
  EXPECT_TRUE(writer_.has_begun());
  EXPECT_EQ(send(), Sent::kAll);
  const std::string read_text = read();
  EXPECT_EQ(read_text, "HTTP/1.1 200 OK\r\nX-Line: 1\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(sent_bytes_, read_text.size());
  writer_.end();
  EXPECT_FALSE(writer_.has_begun());
  EXPECT_TRUE(writer_.keeps_alive());
}

TEST_F(WritingAnswers, HeadRequestsGetNoBody) {
  start("HEAD", 11);
  answer_text("abc");
  EXPECT_EQ(send(), Sent::kAll);
  EXPECT_TRUE(read().ends_with("Content-Length: 3\r\n\r\n"));
  start("GET", 11);
  answer_text("abc");
  EXPECT_EQ(send(), Sent::kAll);
  EXPECT_TRUE(read().ends_with("\r\n\r\nabc"));
}

TEST_F(WritingAnswers, ConnectionsThatEndSaySo) {
  start("GET", 11, false);
  answer_text("abc");
  EXPECT_EQ(send(), Sent::kAll);
  EXPECT_NE(read().find("Connection: close\r\n"), std::string::npos);
}

TEST_F(WritingAnswers, FullSocketsAreWaitedFor) {
  start("GET", 11);
  const std::string text(1 << 20, 'a');
  answer_text(text);
  EXPECT_EQ(send(), Sent::kBlocked);
  EXPECT_TRUE(writer_.is_blocked());
  std::string all = read();
  EXPECT_LT(all.size(), text.size());
  for (writer_.unblock(); send() == Sent::kBlocked; writer_.unblock()) all += read();
  all += read();
  EXPECT_FALSE(writer_.is_blocked());
  EXPECT_EQ(sent_bytes_, all.size());
  EXPECT_EQ(all.substr(all.find("\r\n\r\n") + 4), text);
}

TEST_F(WritingAnswers, ClientsThatAreGoneAreFound) {
  start("GET", 11);
  answer_text("abc");
  ::shutdown(server(), SHUT_WR);
  EXPECT_EQ(send(), Sent::kBroken);
}

TEST_F(WritingAnswers, ProbeOfHttp10IsTheBeginningOfItsAnswer) {
  start("GET", 10);
  EXPECT_TRUE(writer_.probe(to_));
  EXPECT_TRUE(writer_.probe(to_));
  EXPECT_EQ(read(), "H");
  answer_text("abc");
  EXPECT_EQ(send(), Sent::kAll);
  EXPECT_TRUE(read().starts_with("TTP/1.0 200 OK\r\n"));
  // The answer behind it is whole.
  start("GET", 10);
  answer_text("abc");
  EXPECT_EQ(send(), Sent::kAll);
  EXPECT_TRUE(read().starts_with("HTTP/1.0 200 OK\r\n"));
}

TEST_F(WritingAnswers, ProbeOfHttp11IsAnAnswerOfItsOwn) {
  start("GET", 11);
  EXPECT_TRUE(writer_.probe(to_));
  EXPECT_TRUE(writer_.probe(to_));
  EXPECT_EQ(read(), "HTTP/1.1 100 Continue\r\n\r\n");
  answer_text("abc");
  EXPECT_EQ(send(), Sent::kAll);
  EXPECT_TRUE(read().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(WritingAnswers, StreamsAreChunked) {
  start("GET", 11);
  writer_.begin_stream({}, {});
  EXPECT_TRUE(writer_.is_streaming());
  EXPECT_EQ(send(), Sent::kAll);
  EXPECT_TRUE(read().ends_with("Transfer-Encoding: chunked\r\n\r\n"));
  EXPECT_EQ(writer_.next_of_stream(), Next::kNothingYet);
  writer_.stream("one");
  writer_.stream("twotwo");
  EXPECT_EQ(writer_.next_of_stream(), Next::kParts);
  EXPECT_EQ(send(), Sent::kAll);
  EXPECT_EQ(writer_.take_streamed_bytes(), 9u);
  EXPECT_EQ(writer_.take_streamed_bytes(), 0u);
  EXPECT_EQ(read(), "9\r\nonetwotwo\r\n");
  writer_.end_stream();
  EXPECT_EQ(writer_.next_of_stream(), Next::kParts);
  EXPECT_FALSE(writer_.is_streaming());
  EXPECT_EQ(send(), Sent::kAll);
  EXPECT_EQ(read(), "0\r\n\r\n");
}

TEST_F(WritingAnswers, StreamsOfHttp10EndWithTheConnection) {
  start("GET", 10);
  writer_.begin_stream({}, {});
  EXPECT_FALSE(writer_.keeps_alive());
  writer_.stream("one");
  writer_.end_stream();
  EXPECT_EQ(send(), Sent::kAll);
  EXPECT_EQ(writer_.next_of_stream(), Next::kParts);
  EXPECT_EQ(send(), Sent::kAll);
  EXPECT_TRUE(read().ends_with("\r\n\r\none"));
  EXPECT_EQ(writer_.next_of_stream(), Next::kEnd);
}

TEST(StreamedBody, BatchesAreBounded) {
  StreamedBody body;
  body.begin(false);
  const std::string piece(100'000, 'a');
  for (int i = 0; i < 5; ++i) body.add(piece);
  std::vector<iovec> parts;
  EXPECT_TRUE(body.take_batch(&parts));
  EXPECT_EQ(parts.size(), 3u);  // the piece that passes 256 KiB is the last one
  EXPECT_EQ(body.take_batch_bytes(), 300'000u);
  EXPECT_TRUE(body.take_batch(&parts));
  EXPECT_EQ(parts.size(), 2u);
  EXPECT_FALSE(body.take_batch(&parts));
  EXPECT_TRUE(parts.empty());
}

}  // namespace
}  // namespace atl::frontends::http
