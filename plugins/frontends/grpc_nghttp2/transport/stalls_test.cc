#include "frontends/grpc_nghttp2/transport/testing/transport_fixture.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// Clients that let nothing be sent, though their sockets take everything.
class StallsTest : public TransportTest {
 protected:
  static constexpr uint32_t kStreamWindow = 1000;

  StallsTest() {
    echo_.act = [this](CallStream& stream, Message) {
      stream.answer(*TextMessage::make(std::string(bytes_, 'S'), &sent_));
    };
  }
  void open_with_window(uint32_t stream_window) {
    connect();
    std::string settings;
    client_->preface(settings.append("\x00\x04", 2).append(RawClient::number(stream_window)));
    turn();
  }
  void ask(int32_t stream, const std::string& path = "/s/echo") {
    client_->headers(stream, RawClient::call(path));
    client_->data(stream, prefixed("x"), true);
    turn();
  }
  void wait(int64_t ns) {
    clock_.advance(ns);
    turn();
  }

  const int64_t timeout_ = connection_settings_.write_stall_timeout_ns;
  size_t bytes_ = 20'000;
};

TEST_F(StallsTest, AStreamWhoseWindowStaysShutIsReset) {
  open_with_window(kStreamWindow);
  ask(1);
  EXPECT_EQ(answer(1).data.size(), kStreamWindow);
  wait(timeout_ - 1);
  EXPECT_EQ(answer(1).reset, -1);
  EXPECT_EQ(sent_, 0);
  wait(1);
  EXPECT_EQ(answer(1).reset, NGHTTP2_CANCEL);
  EXPECT_EQ(sent_, 1);  // its memory is free
  // The others go on.
  bytes_ = 10;
  ask(3);
  expect_status(3, "0", "");
}

TEST_F(StallsTest, TheCallOfAStreamIsTold) {
  open_with_window(kStreamWindow);
  held_.act = [this](CallStream& stream, Message) {
    stream.attach(call_);
    stream.send(*TextMessage::make(std::string(20'000, 'S'), &sent_));
  };
  ask(1, "/s/held");
  wait(timeout_);
  EXPECT_EQ(answer(1).reset, NGHTTP2_CANCEL);
  EXPECT_TRUE(call_.gone);
}

TEST_F(StallsTest, AWindowThatOpensNowAndThenIsNoStall) {
  open_with_window(kStreamWindow);
  ask(1);
  for (int i = 0; i < 5; ++i) {
    wait(timeout_ - 1);
    client_->window(1, 1);
    turn();
    wait(1);
    EXPECT_EQ(answer(1).reset, -1);
  }
  client_->window(1, 1 << 20);
  turn();
  expect_status(1, "0", "");
}

TEST_F(StallsTest, AWindowShutFromTheStart) {
  open_with_window(0);
  ask(1);
  EXPECT_TRUE(answer(1).data.empty());
  wait(timeout_);
  EXPECT_EQ(answer(1).reset, NGHTTP2_CANCEL);
}

TEST_F(StallsTest, AConnectionWhoseWindowStaysShutIsClosed) {
  open_with_window(1 << 30);
  bytes_ = 200'000;
  ask(1);
  EXPECT_EQ(answer(1).data.size(), 65'535u);
  wait(timeout_ / 2);
  ask(3);  // asking for more is no sign of reading
  wait(timeout_ - timeout_ / 2 - 1);
  EXPECT_NE(connection_, nullptr);
  wait(1);
  EXPECT_EQ(connection_, nullptr);
  EXPECT_EQ(sent_, 2);
}

TEST_F(StallsTest, AStreamThatHasNothingToSendIsNotStalled) {
  open_with_window(kStreamWindow);
  ask(1, "/s/held");
  wait(10 * timeout_);
  EXPECT_EQ(answer(1).reset, -1);
  stream_->answer(*TextMessage::make("late", &sent_));
  turn();
  expect_status(1, "0", "");
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
