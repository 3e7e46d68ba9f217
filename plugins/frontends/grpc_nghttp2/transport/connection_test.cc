// Connections as a whole: their beginning, their limits of time, their end; the thread they live on.
#include <netinet/in.h>

#include <atomic>
#include <thread>

#include "frontends/grpc_nghttp2/transport/serving_thread.h"
#include "frontends/grpc_nghttp2/transport/testing/echo_application.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

using ConnectionTest = TransportTest;

TEST_F(ConnectionTest, AnotherProtocolIsClosed) {
  connect();
  client_->send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  turn();
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(ConnectionTest, ThePrefaceHasItsTime) {
  connect();
  client_->send("PRI * HTTP/2.0\r\n");
  clock_.advance(connection_settings_.header_timeout_ns - 1);
  turn();
  EXPECT_NE(connection_, nullptr);
  clock_.advance(1);
  turn();
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(ConnectionTest, SoDoHeadersAndNothingElse) {
  open();
  call(1, "/s/held", "x");
  clock_.advance(1000 * kNsPerSecond);
  turn();
  ASSERT_NE(connection_, nullptr);
  client_->send(RawClient::frame(NGHTTP2_HEADERS, 0, 3, client_->block(RawClient::call("/s/echo"))));
  turn();
  clock_.advance(connection_settings_.header_timeout_ns);
  turn();
  EXPECT_EQ(connection_, nullptr);
  EXPECT_TRUE(call_.gone);
}

TEST_F(ConnectionTest, HeadersThatWereRefusedAreNotWaitedFor) {
  open();
  client_->headers(1, {{":method", "POST"}, {"te", "trailers"}});
  turn();
  EXPECT_EQ(answer(1).reset, NGHTTP2_PROTOCOL_ERROR);
  clock_.advance(1000 * kNsPerSecond);
  turn();
  EXPECT_NE(connection_, nullptr);
}

TEST_F(ConnectionTest, AClientThatNeverReadsIsLeft) {
  ask_for_too_much();
  clock_.advance(connection_settings_.write_stall_timeout_ns - 1);
  loop_.turn(0);
  EXPECT_NE(connection_, nullptr);
  clock_.advance(1);
  loop_.turn(0);
  EXPECT_EQ(connection_, nullptr);
  EXPECT_EQ(sent_, 1);
}

TEST_F(ConnectionTest, GoingAwayTakesWhatTheClientSentBeforeItKnew) {
  open();
  call(1, "/s/held", "x");
  connection_->go_away();
  turn();
  EXPECT_EQ(client_->count(NGHTTP2_GOAWAY), 1u);
  EXPECT_EQ(call(3, "/s/echo", "did not know").field("grpc-status"), "0");
  // It acknowledges the PING behind the GOAWAY.
  std::string opaque;
  for (const Frame& frame : client_->frames) {
    if (frame.type == NGHTTP2_PING) opaque = frame.payload;
  }
  client_->send(RawClient::frame(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, opaque));
  turn();
  EXPECT_EQ(client_->count(NGHTTP2_GOAWAY), 2u);
  EXPECT_EQ(client_->goaway, NGHTTP2_NO_ERROR);
  ASSERT_NE(connection_, nullptr);
  stream_->answer(*TextMessage::make("the last", &sent_));
  turn();
  EXPECT_EQ(answer(1).data, prefixed("the last"));
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(ConnectionTest, GoingAwayWaitsOnlySoLongForTheClient) {
  open();
  connection_->go_away();
  turn();
  clock_.advance(connection_settings_.go_away_timeout_ns);
  turn();
  EXPECT_EQ(client_->count(NGHTTP2_GOAWAY), 2u);
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(ConnectionTest, WhatAClientSendsBehindItsGoAwayDoesNotResetTheConnection) {
  open();
  call(1, "/s/held", "x");
  constexpr uint32_t kNoSuchCode = 0xff;
  client_->go_away(kNoSuchCode);
  turn();
  EXPECT_FALSE(client_->closed) << "it is answered first";
  stream_->answer(*TextMessage::make("the last", &sent_));
  turn();
  EXPECT_EQ(answer(1).data, prefixed("the last"));
  EXPECT_TRUE(client_->closed);
  ASSERT_NE(connection_, nullptr) << "or else what comes now would be answered by a reset";
  client_->send(RawClient::frame(NGHTTP2_PING, 0, 0, "nobody's"));
  turn();
  ASSERT_NE(connection_, nullptr);
  client_->hang_up();
  turn();
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(ConnectionTest, AClientThatGoesAwayAndStaysIsNotWaitedForWithoutEnd) {
  open();
  client_->go_away(NGHTTP2_NO_ERROR);
  turn();
  EXPECT_TRUE(client_->closed);
  clock_.advance(connection_settings_.go_away_timeout_ns - 1);
  turn();
  ASSERT_NE(connection_, nullptr);
  clock_.advance(1);
  turn();
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(ConnectionTest, NorWhenTheServerEnds) {
  open();
  client_->go_away(NGHTTP2_NO_ERROR);
  turn();
  ASSERT_NE(connection_, nullptr);
  connection_->go_away();
  turn();
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(ConnectionTest, TheLastAnswerIsWrittenBeforeTheEnd) {
  connect(4 * 1024);
  client_->preface(std::string("\x00\x04", 2) + RawClient::number(1 << 30));
  client_->window(0, 1 << 30);
  turn();
  const std::string text(500'000, 'L');
  call(1, "/s/held", "x");
  connection_->go_away();
  turn();
  clock_.advance(connection_settings_.go_away_timeout_ns);
  stream_->answer(*TextMessage::make(text, &sent_));
  for (int i = 0; i < 5; ++i) loop_.turn(0);
  ASSERT_NE(connection_, nullptr);
  for (int i = 0; i < 1000 && connection_ != nullptr; ++i) turn();
  EXPECT_TRUE(answer(1).data == prefixed(text));
  EXPECT_TRUE(answer(1).ended);
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(ConnectionTest, PingsAreAnswered) {
  open();
  client_->send(RawClient::frame(NGHTTP2_PING, 0, 0, "12345678"));
  turn();
  EXPECT_EQ(client_->frames.back().type, NGHTTP2_PING);
  EXPECT_EQ(client_->frames.back().payload, "12345678");
}

TEST_F(ConnectionTest, QuickPingsAreStrikes) {
  open();
  for (int i = 0; i < 3; ++i) client_->send(RawClient::frame(NGHTTP2_PING, 0, 0, "12345678"));
  turn();
  EXPECT_NE(connection_, nullptr);
  call(1, "/s/echo", "forgets them");
  for (int i = 0; i < 3; ++i) client_->send(RawClient::frame(NGHTTP2_PING, 0, 0, "12345678"));
  turn();
  EXPECT_NE(connection_, nullptr);
  client_->send(RawClient::frame(NGHTTP2_PING, 0, 0, "12345678"));
  turn();
  EXPECT_EQ(client_->goaway, NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_EQ(client_->goaway_text, "too_many_pings");
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(ConnectionTest, RapidResetsEndTheConnection) {
  session_settings_.max_streams = 10;
  session_settings_.resets_a_second = 5;
  open();
  held_.act = [](CallStream& stream, Message) { static_cast<void>(stream); };
  int32_t stream = 1;
  auto reset_one = [&] {
    client_->headers(stream, RawClient::call("/s/held"));
    client_->reset(stream, NGHTTP2_CANCEL);
    stream += 2;
    turn();
  };
  for (int i = 0; i < 15; ++i) reset_one();
  EXPECT_NE(connection_, nullptr);
  clock_.advance(kNsPerSecond);
  for (int i = 0; i < 5; ++i) reset_one();
  EXPECT_NE(connection_, nullptr);
  reset_one();
  EXPECT_EQ(client_->goaway_text, "too_many_resets");
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(ConnectionTest, ResetsOfWholeRequestsThatAreLetGoAreNone) {
  session_settings_.max_streams = 10;
  session_settings_.resets_a_second = 5;
  open();
  held_.act = [this](CallStream& stream, Message) { stream.attach(call_); };
  for (int32_t stream = 1; stream < 40'000; stream += 2) {
    client_->headers(stream, RawClient::call("/s/held"));
    client_->data(stream, prefixed("x"), true);
    client_->reset(stream, NGHTTP2_CANCEL);
    if (stream % 100 == 1) turn();
    ASSERT_NE(connection_, nullptr) << stream;
  }
  turn();
  EXPECT_EQ(client_->goaway, -1);
  EXPECT_EQ(call(40'001, "/s/echo", "x").field("grpc-status"), "0");
}

TEST_F(ConnectionTest, WorkThatResetsPileUpEndsTheConnection) {
  session_settings_.max_streams = 10;
  session_settings_.resets_a_second = 5;
  std::vector<CallTicket> running;
  held_.act = [&](CallStream& stream, Message) {
    stream.attach(call_);
    running.push_back(stream.take_ticket());
  };
  open();
  int32_t stream = 1;
  for (; connection_ != nullptr && stream < 1000; stream += 2) {
    client_->headers(stream, RawClient::call("/s/held"));
    client_->data(stream, prefixed("x"), true);
    client_->reset(stream, NGHTTP2_CANCEL);
    turn();
  }
  EXPECT_EQ(running.size(), 10u) << "no more work than a client may have";
  EXPECT_EQ(stream, 1 + 2 * (10 + 16));
  EXPECT_EQ(client_->goaway_text, "too_many_resets");
}

TEST_F(ConnectionTest, ResetsOfAnsweredCallsAreNone) {
  session_settings_.max_streams = 10;
  session_settings_.resets_a_second = 5;
  open();
  for (int32_t stream = 1; stream < 200; stream += 2) {
    call(stream, "/s/echo", "x");
    client_->reset(stream, NGHTTP2_CANCEL);
  }
  turn();
  EXPECT_NE(connection_, nullptr);
}

TEST_F(ConnectionTest, AQuietClientWithCallsIsPingedAndThenLeft) {
  open();
  clock_.advance(connection_settings_.keepalive_time_ns);
  turn();
  EXPECT_EQ(client_->count(NGHTTP2_PING), 0u);
  call(1, "/s/held", "x");
  clock_.advance(connection_settings_.keepalive_time_ns);
  turn();
  EXPECT_EQ(client_->count(NGHTTP2_PING), 1u);
  client_->send(RawClient::frame(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, std::string(8, '\0')));
  turn();
  clock_.advance(connection_settings_.keepalive_timeout_ns);
  turn();
  EXPECT_NE(connection_, nullptr);
  clock_.advance(connection_settings_.keepalive_time_ns);
  turn();
  EXPECT_EQ(client_->count(NGHTTP2_PING), 2u);
  clock_.advance(connection_settings_.keepalive_timeout_ns);
  turn();
  EXPECT_EQ(connection_, nullptr);
  EXPECT_TRUE(call_.gone);
}

TEST_F(ConnectionTest, AnOldConnectionSendsItsClientAway) {
  connection_settings_.max_age_ns = 100 * kNsPerSecond;
  connection_settings_.max_age_grace_ns = 30 * kNsPerSecond;
  open();
  call(1, "/s/held", "x");
  clock_.advance(89 * kNsPerSecond);
  turn();
  EXPECT_EQ(client_->count(NGHTTP2_GOAWAY), 0u);
  clock_.advance(21 * kNsPerSecond);
  turn();
  EXPECT_EQ(client_->count(NGHTTP2_GOAWAY), 1u);
  EXPECT_FALSE(call_.gone);
  clock_.advance(30 * kNsPerSecond);
  turn();
  EXPECT_TRUE(call_.gone);
  EXPECT_EQ(connection_, nullptr);
}

TEST(WorkerTest, ServesConnectionsOnItsThread) {
  const test::RealClock clock;
  EchoApplication echo;
  const TransportContext transport{clock, echo};
  ServingThread worker(transport);
  ASSERT_TRUE(worker.open().ok());
  worker.start("worker");
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  RawClient client(ends[1]);
  worker.adopt(ends[0]);
  client.preface();
  client.headers(1, RawClient::call("/any"));
  client.data(1, prefixed("over a thread"), true);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!client.answers[1].ended && std::chrono::steady_clock::now() < end) client.read();
  EXPECT_EQ(client.answers[1].data, prefixed("over a thread"));
  EXPECT_EQ(worker.connections(), 1);
  worker.close_connections();
  while (!worker.closed()) std::this_thread::yield();
  EXPECT_EQ(worker.connections(), 0);
  worker.stop();
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
