// Calls with one message and one answer.
#include "frontends/grpc_nghttp2/transport/testing/transport_fixture.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

using CallsTest = TransportTest;

TEST_F(CallsTest, AnswersAsGrpcDoes) {
  open();
  const Answer& answer = call(1, "/s/echo", "hello");
  ASSERT_EQ(answer.headers.size(), 2u);
  EXPECT_EQ(answer.headers[0], (Fields{{":status", "200"},
                                       {"content-type", "application/grpc"},
                                       {"grpc-accept-encoding", "identity, deflate, gzip"}}));
  EXPECT_EQ(answer.headers[1], (Fields{{"grpc-status", "0"}}));
  EXPECT_EQ(answer.data, prefixed("hello"));
  EXPECT_TRUE(answer.ended);
  EXPECT_EQ(answer.reset, -1);
  EXPECT_EQ(sent_, 1);
}

TEST_F(CallsTest, SettingsAreOurs) {
  open();
  ASSERT_FALSE(client_->frames.empty());
  EXPECT_EQ(client_->frames[0].type, NGHTTP2_SETTINGS);
  EXPECT_EQ(client_->frames[0].payload.size(), 5u * 6);
}

TEST_F(CallsTest, TheMessageMayBeCutAnywhere) {
  open();
  const std::string text = prefixed("some bytes");
  int32_t stream = 1;
  for (size_t cut = 0; cut <= text.size(); ++cut, stream += 2) {
    client_->headers(stream, RawClient::call("/s/echo"));
    client_->data(stream, text.substr(0, cut));
    turn();
    client_->data(stream, text.substr(cut));
    client_->data(stream, "", true);
    turn();
    EXPECT_EQ(answer(stream).data, text) << cut;
    EXPECT_EQ(answer(stream).field("grpc-status"), "0");
  }
}

TEST_F(CallsTest, RunsWhenItsMessageIsCompleteAndResetsWithoutAnError) {
  open();
  client_->headers(1, RawClient::call("/s/echo"));
  client_->data(1, prefixed("early") + prefixed("a second one"));
  turn();
  EXPECT_EQ(answer(1).data, prefixed("early"));
  EXPECT_EQ(answer(1).reset, NGHTTP2_NO_ERROR);
  EXPECT_EQ(client_->frames.back().type, NGHTTP2_RST_STREAM);
  EXPECT_EQ(echo_.begun, 1);
  client_->data(1, "late", true);
  call(3, "/s/echo", "goes on");
  EXPECT_EQ(answer(3).data, prefixed("goes on"));
}

TEST_F(CallsTest, ManyInOneSegmentAreAnsweredInOne) {
  open();
  std::string all;
  for (int32_t i = 0; i < 10; ++i) {
    all += RawClient::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 2 * i + 1,
                            client_->block(RawClient::call("/s/echo")));
    all += RawClient::frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 2 * i + 1, prefixed(std::to_string(i)));
  }
  client_->send(all);
  loop_.turn(0);
  client_->read();
  for (int32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(answer(2 * i + 1).data, prefixed(std::to_string(i)));
    EXPECT_TRUE(answer(2 * i + 1).ended);
  }
}

TEST_F(CallsTest, TheInlineBudgetWritesBetween) {
  session_settings_.inline_budget = 2;
  int most_waiting = 0;
  echo_.act = [&](CallStream& stream, Message message) {
    most_waiting = std::max(most_waiting, echo_.begun - sent_);
    stream.answer(*TextMessage::make(text_of(message), &sent_));
  };
  open();
  std::string all;
  for (int32_t i = 0; i < 9; ++i) {
    all += RawClient::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 2 * i + 1,
                            client_->block(RawClient::call("/s/echo")));
    all += RawClient::frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 2 * i + 1, prefixed("x"));
  }
  client_->send(all);
  turn();
  EXPECT_EQ(echo_.begun, 9);
  EXPECT_EQ(most_waiting, 2);
  for (int32_t i = 0; i < 9; ++i) {
    EXPECT_TRUE(answer(2 * i + 1).ended);
    EXPECT_EQ(answer(2 * i + 1).reset, -1);
  }
}

TEST_F(CallsTest, AnswersMayComeLater) {
  open();
  call(1, "/s/held", "held");
  EXPECT_TRUE(answer(1).headers.empty());
  EXPECT_EQ(text_of(message_), "held");
  stream_->answer(*TextMessage::make("now", &sent_));
  turn();
  EXPECT_EQ(answer(1).data, prefixed("now"));
  EXPECT_FALSE(call_.gone);
}

TEST_F(CallsTest, AMessageThatIsHeldKeepsItsBytes) {
  open();
  call(1, "/s/held", "held bytes");
  for (int32_t stream = 3; stream < 400; stream += 2) call(stream, "/s/echo", std::string(1000, 'x'));
  EXPECT_EQ(text_of(message_), "held bytes");
  stream_->finish(0, {});
}

TEST_F(CallsTest, FailuresAreTrailersOnly) {
  open();
  held_.act = [](CallStream& stream, Message) {
    stream.writer().add_trailer("retry-after", "1");
    stream.finish(3, "\xC3\xA4%");
  };
  const Answer& answer = call(1, "/s/held", "x");
  ASSERT_EQ(answer.headers.size(), 1u);
  EXPECT_EQ(answer.headers[0], (Fields{{":status", "200"},
                                       {"content-type", "application/grpc"},
                                       {"grpc-status", "3"},
                                       {"grpc-message", "%C3%A4%25"},
                                       {"retry-after", "1"}}));
  EXPECT_TRUE(answer.data_frames.empty());
}

TEST_F(CallsTest, AResetIsTold) {
  open();
  call(1, "/s/held", "x");
  client_->reset(1, NGHTTP2_CANCEL);
  turn();
  EXPECT_TRUE(call_.gone);
  EXPECT_EQ(call(3, "/s/echo", "y").field("grpc-status"), "0");
}

TEST_F(CallsTest, ALostConnectionIsTold) {
  open();
  call(1, "/s/held", "x");
  client_->hang_up();
  loop_.turn(0);
  EXPECT_TRUE(call_.gone);
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(CallsTest, ADeadlineEndsTheCall) {
  open();
  call(1, "/s/held", "x", {{"grpc-timeout", "50m"}});
  EXPECT_EQ(stream_->deadline_ns(), clock_.now_ns() + 50 * kNsPerMs);
  clock_.advance(49 * kNsPerMs);
  turn();
  EXPECT_FALSE(call_.gone);
  clock_.advance(kNsPerMs);
  turn();
  EXPECT_TRUE(call_.gone);
  expect_status(1, "4", "Deadline Exceeded");
  EXPECT_EQ(answer(1).reset, -1);
}

TEST_F(CallsTest, AnAnsweredCallHasNoDeadlineAnyMore) {
  open();
  call(1, "/s/echo", "x", {{"grpc-timeout", "50m"}});
  clock_.advance(kNsPerSecond);
  turn();
  EXPECT_EQ(answer(1).headers.size(), 2u);
}

TEST_F(CallsTest, WithoutAWholeMessageThereIsNoCall) {
  open();
  client_->headers(1, RawClient::call("/s/echo"), true);
  client_->headers(3, RawClient::call("/s/echo"));
  client_->data(3, prefixed("cut off").substr(0, 8), true);
  turn();
  expect_status(1, "13", "Unable to parse request");
  expect_status(3, "13", "Unable to parse request");
  EXPECT_EQ(echo_.begun, 0);
}

TEST_F(CallsTest, TooLargeAMessageIsRefusedByItsPrefix) {
  echo_.max_message_bytes = 10;
  open();
  client_->headers(1, RawClient::call("/s/echo"));
  client_->data(1, prefixed("eleven byte").substr(0, 5));
  turn();
  expect_status(1, "8", "Received message larger than max (11 vs. 10)");
  EXPECT_EQ(answer(1).reset, NGHTTP2_NO_ERROR);
  EXPECT_EQ(call(3, "/s/echo", "ten bytes!").data, prefixed("ten bytes!"));
}

TEST_F(CallsTest, CompressionIsSaidAndChecked) {
  open();
  client_->headers(1, RawClient::call("/s/echo"));
  client_->data(1, prefixed("x", 1), true);
  client_->headers(3, RawClient::call("/s/echo"));
  client_->data(3, prefixed("x", 2), true);
  turn();
  expect_status(1, "13", "Compression bit set but no encoding configured");
  expect_status(3, "13", "Bad GRPC frame type 0x02");
  client_->headers(
      5, RawClient::call("/s/held", {{"grpc-encoding", "gzip"}, {"grpc-accept-encoding", "identity,gzip"}}));
  client_->data(5, prefixed("x", 1), true);
  turn();
  EXPECT_TRUE(message_.compressed);
  EXPECT_EQ(stream_->headers().encoding, MessageEncoding::kGzip);
  EXPECT_TRUE(stream_->headers().accepts(MessageEncoding::kGzip));
  EXPECT_FALSE(stream_->headers().accepts(MessageEncoding::kDeflate));
  stream_->finish(0, {});
}

TEST_F(CallsTest, ResetCallsCountUntilTheirWorkIsDone) {
  session_settings_.max_streams = 2;
  open();
  std::vector<CallTicket> tickets;
  held_.act = [&](CallStream& stream, Message) {
    stream.attach(call_);
    tickets.push_back(stream.take_ticket());
  };
  for (int32_t stream : {1, 3}) {
    call(stream, "/s/held", "x");
    client_->reset(stream, NGHTTP2_CANCEL);
    turn();
  }
  call(5, "/s/held", "x");
  EXPECT_EQ(answer(5).reset, NGHTTP2_REFUSED_STREAM);
  EXPECT_EQ(held_.begun, 2);
  tickets.clear();
  EXPECT_EQ(call(7, "/s/echo", "x").field("grpc-status"), "0");
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
