// When answers are written: those of the first calls before the others run, if nobody else has anything to say.
#include <sys/eventfd.h>

#include "frontends/grpc_nghttp2/transport/testing/transport_fixture.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// Somebody else of the same loop, who always has something to say.
class Talker final : public Watcher {
 public:
  explicit Talker(EventLoop& loop) : loop_(loop), fd_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {
    EXPECT_TRUE(loop_.watch(fd_, EPOLLIN, *this).ok());
  }
  virtual ~Talker() {
    loop_.forget(fd_, *this);
    ::close(fd_);
  }
  void on_ready(uint32_t) noexcept override {}

 private:
  EventLoop& loop_;
  const int fd_;
};

class AnswersAheadTest : public TransportTest {
 protected:
  static constexpr int32_t kCalls = 12;

  static int32_t stream_of(int32_t call) { return 2 * call + 1; }
  /// Notes how many calls the client sees answered when each is run.
  void note_answers() {
    echo_.act = [this](CallStream& stream, Message message) {
      client_->read();
      int32_t count = 0;
      for (int32_t i = 0; i < kCalls; ++i) count += answer(stream_of(i)).ended ? 1 : 0;
      seen_.push_back(count);
      stream.answer(*TextMessage::make(text_of(message), &sent_));
    };
  }
  std::string calls(const std::string& text, int32_t count = kCalls) {
    std::string all;
    for (int32_t i = 0; i < count; ++i) {
      all += RawClient::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream_of(i),
                              client_->block(RawClient::call("/s/echo")));
      all += RawClient::frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream_of(i), prefixed(text));
    }
    return all;
  }
  void expect_all_answered(const std::string& text) {
    client_->read();
    for (int32_t i = 0; i < kCalls; ++i) {
      EXPECT_EQ(answer(stream_of(i)).data, prefixed(text));
      EXPECT_EQ(answer(stream_of(i)).field("grpc-status"), "0");
    }
  }

  std::vector<int32_t> seen_;
};

TEST_F(AnswersAheadTest, OfTwoCallsAndThenOfEight) {
  open();
  note_answers();
  const std::string text(100, 't');
  client_->send(calls(text));
  loop_.turn(0);
  EXPECT_EQ(seen_, (std::vector<int32_t>{0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 10, 10}));
  expect_all_answered(text);
}

TEST_F(AnswersAheadTest, NotWhereOthersHaveSomethingToSay) {
  open();
  note_answers();
  Talker other(loop_);
  const std::string text(100, 't');
  client_->send(calls(text));
  loop_.turn(0);
  ASSERT_EQ(seen_.size(), size_t{kCalls});
  EXPECT_EQ(seen_.back(), 0);
  expect_all_answered(text);
}

TEST_F(AnswersAheadTest, NotOfALittle) {
  open();
  note_answers();
  client_->send(calls("t", 3));
  loop_.turn(0);
  EXPECT_EQ(seen_, (std::vector<int32_t>{0, 0, 0}));
}

TEST_F(AnswersAheadTest, OfMessagesOfAStream) {
  open();
  const std::string message = prefixed(std::string(100, 'm'));
  std::vector<size_t> seen;
  call_.then = [&] {
    client_->read();
    seen.push_back(answer(1).data.size() / message.size());
    stream_->send(*TextMessage::make(call_.texts.back(), &sent_));
    stream_->read_next();
  };
  client_->headers(1, RawClient::call("/s/several"));
  turn();
  std::string all;
  for (int32_t i = 0; i < kCalls; ++i) all += message;
  client_->data(1, all);
  loop_.turn(0);
  EXPECT_EQ(seen, (std::vector<size_t>{0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 10, 10}));
  client_->read();
  EXPECT_EQ(answer(1).data, all);
  EXPECT_EQ(answer(1).data_frames.size(), 3u);
  stream_->finish(0, {});
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
