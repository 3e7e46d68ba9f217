// Calls with several messages, and messages larger than windows.
#include "frontends/grpc_nghttp2/transport/testing/transport_fixture.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

class StreamsTest : public TransportTest {
 protected:
  std::string setting(uint16_t id, uint32_t value) {
    std::string bytes;
    bytes.push_back(static_cast<char>(id >> 8));
    bytes.push_back(static_cast<char>(id & 0xFF));
    return bytes + RawClient::number(value);
  }
  void begin(int32_t stream) {
    client_->headers(stream, RawClient::call("/s/several"));
    turn();
  }
  void send(std::string_view text) { stream_->send(*TextMessage::make(text, &sent_)); }
};

TEST_F(StreamsTest, MessagesComeWhenTheyAreAskedFor) {
  open();
  begin(1);
  client_->data(1, prefixed("one") + prefixed("two"));
  turn();
  EXPECT_EQ(call_.texts, std::vector<std::string>{"one"});
  stream_->read_next();
  EXPECT_EQ(call_.texts, (std::vector<std::string>{"one", "two"}));
  stream_->read_next();
  client_->data(1, prefixed("three").substr(0, 6));
  turn();
  client_->data(1, prefixed("three").substr(6), true);
  turn();
  EXPECT_EQ(call_.texts.size(), 3u);
  EXPECT_FALSE(call_.half_closed);
  stream_->read_next();
  EXPECT_TRUE(call_.half_closed);
  stream_->finish(0, {});
  turn();
  expect_status(1, "0", "");
}

TEST_F(StreamsTest, AskingInsideDoesNotNest) {
  open();
  call_.then = [this] { stream_->read_next(); };
  begin(1);
  std::string all;
  for (int i = 0; i < 10'000; ++i) all += prefixed("x");
  for (size_t at = 0; at < all.size(); at += 16'384) {
    client_->data(1, std::string_view(all).substr(at, 16'384));
    turn();
  }
  client_->data(1, "", true);
  turn();
  EXPECT_EQ(call_.texts.size(), 10'000u);
  EXPECT_TRUE(call_.half_closed);
  stream_->finish(0, {});
}

TEST_F(StreamsTest, AnEmptyStreamAndAMessageThatIsCutAreHalfCloses) {
  open();
  client_->headers(1, RawClient::call("/s/several"), true);
  turn();
  EXPECT_TRUE(call_.half_closed);
  stream_->finish(0, {});
  turn();
  expect_status(1, "0", "");
  call_.half_closed = false;
  begin(3);
  client_->data(3, prefixed("cut").substr(0, 6), true);
  turn();
  EXPECT_TRUE(call_.half_closed);
  EXPECT_TRUE(call_.texts.empty());
  stream_->finish(0, {});
}

TEST_F(StreamsTest, AnswersGoOutAsTheyCome) {
  open();
  begin(1);
  send("first");
  turn();
  EXPECT_EQ(answer(1).data, prefixed("first"));
  EXPECT_FALSE(answer(1).ended);
  send("second");
  send("third");
  turn();
  EXPECT_EQ(answer(1).data, prefixed("first") + prefixed("second") + prefixed("third"));
  EXPECT_EQ(answer(1).data_frames.size(), 2u);
  send("last");
  stream_->finish(13, "enough");
  turn();
  EXPECT_TRUE(answer(1).data.ends_with("last"));
  expect_status(1, "13", "enough");
  EXPECT_EQ(answer(1).reset, NGHTTP2_NO_ERROR);
  EXPECT_EQ(sent_, 4);
}

TEST_F(StreamsTest, ARefusedMessageEndsTheStream) {
  several_.max_message_bytes = 10;
  open();
  begin(1);
  client_->data(1, prefixed("eleven byte"));
  turn();
  EXPECT_TRUE(call_.gone);
  expect_status(1, "8", "Received message larger than max (11 vs. 10)");
}

TEST_F(StreamsTest, ADeadlineDropsWhatWaitsAndFinishesItsFrame) {
  connect(8 * 1024);
  client_->preface(setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 30) +
                   setting(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 1 << 20));
  client_->window(0, 1 << 30);
  client_->headers(1, RawClient::call("/s/several", {{"grpc-timeout", "1S"}}));
  for (int i = 0; i < 3; ++i) loop_.turn(0);
  for (int i = 0; i < 3; ++i) send(std::string(2'000'000, static_cast<char>('a' + i)));
  for (int i = 0; i < 3; ++i) loop_.turn(0);
  clock_.advance(kNsPerSecond);
  loop_.turn(0);
  EXPECT_TRUE(call_.gone);
  EXPECT_GE(sent_, 2);
  for (int i = 0; i < 500 && !answer(1).ended; ++i) turn();
  EXPECT_EQ(answer(1).headers.back()[0].second, "4");
  EXPECT_LT(answer(1).data.size(), 2'000'000u);
  EXPECT_EQ(sent_, 3);
}

TEST_F(StreamsTest, WhatIsNotReadHoldsTheClientBack) {
  session_settings_.initial_window = 70'000;
  several_.act = [this](CallStream& stream, Message) {
    stream.attach(call_);
    stream_ = &stream;
  };
  open();
  begin(1);
  for (int i = 0; i < 4; ++i) client_->data(1, prefixed(std::string(16'000, 'x')));
  turn();
  auto stream_windows = [this] {
    size_t found = 0;
    for (const Frame& frame : client_->frames) {
      found += frame.type == NGHTTP2_WINDOW_UPDATE && frame.stream == 1 ? 1 : 0;
    }
    return found;
  };
  EXPECT_EQ(stream_windows(), 0u);
  for (int i = 0; i < 4; ++i) stream_->read_next();
  EXPECT_EQ(call_.texts.size(), 4u);
  turn();
  EXPECT_GT(stream_windows(), 0u);
  stream_->finish(0, {});
}

TEST_F(StreamsTest, LargeAnswersAreSentFromTheirMemory) {
  connect();
  client_->preface(setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 30) +
                   setting(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 1 << 20));
  client_->window(0, 1 << 30);
  turn();
  const std::string text(3'000'000, 'L');
  echo_.act = [&](CallStream& stream, Message) { stream.answer(*TextMessage::make(text, &sent_, 3)); };
  call(1, "/s/echo", "x");
  for (int i = 0; i < 200 && !answer(1).ended; ++i) turn();
  EXPECT_EQ(answer(1).data, prefixed(text));
  EXPECT_EQ(answer(1).field("grpc-status"), "0");
  EXPECT_EQ(sent_, 1);
  EXPECT_EQ(answer(1).data_frames.front(), 256u * 1024);
}

TEST_F(StreamsTest, LargeAnswersKeepToTheClientsWindows) {
  connect();
  client_->preface(setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
  turn();
  const std::string text(100'000, 'W');
  echo_.act = [&](CallStream& stream, Message) { stream.answer(*TextMessage::make(text, &sent_, 2)); };
  call(1, "/s/echo", "x");
  EXPECT_EQ(answer(1).headers.size(), 1u);
  EXPECT_TRUE(answer(1).data.empty());
  client_->window(1, 1);
  turn();
  EXPECT_EQ(answer(1).data, std::string(1, '\0'));
  client_->window(1, 1 << 20);
  client_->window(0, 1 << 20);
  for (int i = 0; i < 50 && !answer(1).ended; ++i) turn();
  EXPECT_EQ(answer(1).data, prefixed(text));
  EXPECT_TRUE(answer(1).ended);
}

TEST_F(StreamsTest, AResetLetsWhatWaitsGo) {
  connect();
  client_->preface(setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
  turn();
  echo_.act = [&](CallStream& stream, Message) {
    stream.answer(*TextMessage::make(std::string(100'000, 'W'), &sent_));
  };
  call(1, "/s/echo", "x");
  EXPECT_EQ(sent_, 0);
  client_->reset(1, NGHTTP2_CANCEL);
  turn();
  EXPECT_EQ(sent_, 1);
}

TEST_F(StreamsTest, ASlowSocketHoldsMemoryUntilItIsWritten) {
  connect(8 * 1024);
  client_->preface(setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 30));
  client_->window(0, 1 << 30);
  loop_.turn(0);
  loop_.turn(0);
  echo_.act = [&](CallStream& stream, Message) {
    stream.answer(*TextMessage::make(std::string(2'000'000, 'S'), &sent_, 7));
  };
  client_->headers(1, RawClient::call("/s/echo"));
  client_->data(1, prefixed("x"), true);
  for (int i = 0; i < 5; ++i) loop_.turn(0);
  client_->reset(1, NGHTTP2_CANCEL);
  for (int i = 0; i < 5; ++i) loop_.turn(0);
  EXPECT_EQ(sent_, 0);  // the frame that has begun is still to be finished
  for (int i = 0; i < 200 && sent_ == 0; ++i) turn();
  EXPECT_EQ(sent_, 1);
  EXPECT_EQ(call(3, "/s/several", "still here").reset, -1);
}

TEST_F(StreamsTest, PaddedFramesAreTaken) {
  open();
  client_->headers(1, RawClient::call("/s/echo"));
  const std::string padded = std::string(1, '\x05') + prefixed("padded") + std::string(5, '\0');
  client_->send(RawClient::frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_END_STREAM, 1, padded));
  turn();
  EXPECT_EQ(answer(1).data, prefixed("padded"));
}

TEST_F(StreamsTest, LargeMessagesInManyFrames) {
  echo_.max_message_bytes = 8 << 20;
  size_t got = 0;
  echo_.act = [&](CallStream& stream, Message message) {
    got = message.bytes.size();
    stream.finish(0, {});
  };
  open();
  const std::string all = prefixed(std::string(5 << 20, 'B'));
  client_->headers(1, RawClient::call("/s/echo"));
  for (size_t at = 0; at < all.size(); at += 16'384) {
    client_->data(1, std::string_view(all).substr(at, 16'384));
    turn();
  }
  client_->data(1, "", true);
  turn();
  EXPECT_EQ(got, size_t{5} << 20);
  // The client could send all of it: its windows were given back.
  EXPECT_GT(client_->count(NGHTTP2_WINDOW_UPDATE), 2u);
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
