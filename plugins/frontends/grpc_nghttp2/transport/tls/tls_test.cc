// What goes over connections with TLS: records, slow clients, the end.
#include "frontends/grpc_nghttp2/transport/testing/tls_fixture.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

class TlsTest : public TlsTransportTest {
 protected:
  /// A connection whose client's windows are as large as they can be.
  void open_wide(int socket_bytes = 0) {
    connect(socket_bytes);
    client_->preface(std::string("\x00\x04", 2) + RawClient::number(1 << 30));
    client_->window(0, 1 << 30);
    turn();
  }
  static std::string text_of_size(size_t size) {
    std::string text(size, '\0');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * 31 % 23);
    return text;
  }
  /// Counts the records of data that the client gets from now on.
  void count_records() {
    SSL_set_msg_callback_arg(tunnel_->ssl(), &records_);
    SSL_set_msg_callback(tunnel_->ssl(),
                         [](int sent, int, int type, const void* header, size_t, SSL*, void* count) {
                           if (sent != 0 || type != SSL3_RT_HEADER) return;
                           if (*static_cast<const uint8_t*>(header) != SSL3_RT_APPLICATION_DATA) return;
                           ++*static_cast<int*>(count);
                         });
  }

  int records_ = 0;
};

TEST_F(TlsTest, LargeMessagesGoBothWays) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    tunnel_settings_.version = version;
    open_wide();
    const std::string text = text_of_size(1'000'000);
    const std::string message = prefixed(text);
    client_->headers(1, RawClient::call("/s/echo"));
    for (size_t at = 0; at < message.size(); at += 16'000) {
      client_->data(1, message.substr(at, 16'000), at + 16'000 >= message.size());
      turn();
    }
    EXPECT_TRUE(answer(1).data == message);
    on_closed(*connection_);
  }
}

TEST_F(TlsTest, PiecesOfAnySizeBecomeRecords) {
  open_wide();
  int32_t stream = 1;
  for (const size_t pieces : {1, 2, 5, 63, 64, 65, 300}) {
    for (const size_t size : {16'383, 16'384, 16'385, 65'536, 400'001}) {
      const std::string text = text_of_size(size);
      echo_.act = [&](CallStream& at, Message) { at.answer(*TextMessage::make(text, &sent_, pieces)); };
      EXPECT_TRUE(call(stream, "/s/echo", "x").data == prefixed(text)) << pieces << " of " << size;
      stream += 2;
    }
  }
}

TEST_F(TlsTest, RecordsAreFull) {
  open_wide();
  const std::string text = text_of_size(1'000'000);
  echo_.act = [&](CallStream& stream, Message) { stream.answer(*TextMessage::make(text, &sent_)); };
  count_records();
  EXPECT_EQ(call(1, "/s/echo", "x").data.size(), text.size() + 5);
  EXPECT_LE(records_, 64);
}

TEST_F(TlsTest, WhatIsAnsweredInATurnIsOneRecord) {
  open_wide();
  count_records();
  for (int32_t stream = 1; stream < 64; stream += 2) {
    client_->headers(stream, RawClient::call("/s/echo"));
    client_->data(stream, prefixed("small"), true);
  }
  turn();
  EXPECT_TRUE(answer(63).ended);
  EXPECT_EQ(records_, 1);
}

TEST_F(TlsTest, ASlowClientGetsEverything) {
  open_wide(32 * 1024);
  const std::string text = text_of_size(3'000'000);
  echo_.act = [&](CallStream& stream, Message) { stream.answer(*TextMessage::make(text, &sent_)); };
  tunnel_->takes = false;
  client_->headers(1, RawClient::call("/s/echo"));
  client_->data(1, prefixed("x"), true);
  for (int i = 0; i < 20; ++i) {
    turn();
    clock_.advance(connection_settings_.write_stall_timeout_ns / 2);
    tunnel_->takes = true;
    tunnel_->carry();  // as much as the socket holds
    tunnel_->takes = false;
  }
  ASSERT_NE(connection_, nullptr);
  tunnel_->takes = true;
  turn();
  EXPECT_TRUE(answer(1).data == prefixed(text));
  EXPECT_TRUE(answer(1).ended);
}

TEST_F(TlsTest, AClientThatNeverReadsIsLeft) {
  open_wide(4 * 1024);
  echo_.act = [&](CallStream& stream, Message) {
    stream.answer(*TextMessage::make(std::string(2'000'000, 'S'), &sent_));
  };
  tunnel_->takes = false;
  client_->headers(1, RawClient::call("/s/echo"));
  client_->data(1, prefixed("x"), true);
  turn();
  clock_.advance(connection_settings_.write_stall_timeout_ns - 1);
  turn();
  EXPECT_NE(connection_, nullptr);
  clock_.advance(1);
  turn();
  EXPECT_EQ(connection_, nullptr);
  EXPECT_EQ(sent_, 1);
}

TEST_F(TlsTest, AClientThatGoesAwayIsToldTheEndAndMayEndItsSide) {
  open_wide();
  client_->go_away(NGHTTP2_NO_ERROR);
  turn();
  EXPECT_TRUE(tunnel_->notified);
  ASSERT_NE(connection_, nullptr);
  client_->send(RawClient::frame(NGHTTP2_PING, 0, 0, "nobody's"));
  turn();
  ASSERT_NE(connection_, nullptr);
  tunnel_->hang_up();
  turn();
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(TlsTest, TheLastAnswerIsWrittenBeforeTheEnd) {
  open_wide(4 * 1024);
  const std::string text = text_of_size(500'000);
  call(1, "/s/held", "x");
  connection_->go_away();
  turn();
  clock_.advance(connection_settings_.go_away_timeout_ns);
  tunnel_->takes = false;
  stream_->answer(*TextMessage::make(text, &sent_));
  turn();
  ASSERT_NE(connection_, nullptr);
  tunnel_->takes = true;
  turn();
  EXPECT_TRUE(answer(1).data == prefixed(text));
  EXPECT_TRUE(answer(1).ended);
  EXPECT_EQ(connection_, nullptr);
  EXPECT_TRUE(tunnel_->notified);
}

TEST_F(TlsTest, TheEndIsToldByEitherSide) {
  open();
  connection_->shut_down();
  turn();
  EXPECT_TRUE(tunnel_->notified);
  EXPECT_TRUE(tunnel_->hung_up);

  open();
  call(1, "/s/held", "x");
  EXPECT_FALSE(call_.gone);
  SSL_shutdown(tunnel_->ssl());
  turn();
  EXPECT_TRUE(call_.gone);
  EXPECT_EQ(connection_, nullptr);
  EXPECT_TRUE(tls_failures_.empty());
}

TEST_F(TlsTest, AClientThatHangsUpIsNoFailure) {
  open();
  tunnel_->hang_up();
  loop_.turn(0);
  EXPECT_EQ(connection_, nullptr);
  EXPECT_TRUE(tls_failures_.empty());
}

TEST_F(TlsTest, DamagedRecordsEndTheConnection) {
  open();
  std::string record("\x17\x03\x03\x00\x40", 5);
  tunnel_->inject(record + std::string(64, 'x'));
  turn();
  EXPECT_EQ(connection_, nullptr);
  EXPECT_EQ(tunnel_->failure, "sslv3 alert bad record mac");
  ASSERT_EQ(tls_failures_.size(), 1u);
  EXPECT_EQ(tls_failures_.front(), "decryption failed or bad record mac");
}

TEST_F(TlsTest, SoDoRecordsThatAreTooLarge) {
  open();
  tunnel_->inject(std::string("\x17\x03\x03\xff\xff", 5) + std::string(60'000, 'x'));
  turn();
  EXPECT_EQ(connection_, nullptr);
  EXPECT_EQ(tls_failures_.size(), 1u);
}

TEST_F(TlsTest, KeysMayChangeNowAndThen) {
  tunnel_settings_.version = TLS1_3_VERSION;
  open();
  for (int32_t stream = 1; stream < 101; stream += 2) {
    SSL_key_update(tunnel_->ssl(), SSL_KEY_UPDATE_REQUESTED);
    EXPECT_EQ(call(stream, "/s/echo", "new keys").data, prefixed("new keys"));
  }
  EXPECT_NE(connection_, nullptr);
  for (int i = 0; i < 40; ++i) {
    SSL_key_update(tunnel_->ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
    SSL_do_handshake(tunnel_->ssl());
  }
  turn();
  EXPECT_EQ(connection_, nullptr);
  ASSERT_EQ(tls_failures_.size(), 1u);
  EXPECT_EQ(tls_failures_.front(), "too many messages of handshakes");
}

TEST_F(TlsTest, WhatPilesUpIsBounded) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  int plain[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, plain), 0);
  const RawClient nobody(plain[0]);
  TlsTunnel tunnel(plain[1], ends[1], {});
  {
    const auto channel = TlsChannel::make(ends[0], tls_context_->accept(), tls_thread_);
    while (!channel->is_open()) {
      tunnel.carry();
      ASSERT_TRUE(channel->shake_hands());
    }
    const std::string text(200'000, 'U');
    const iovec piece{const_cast<char*>(text.data()), text.size()};
    int given = 0;
    ssize_t sent = 0;
    for (; given < 100 && sent >= 0; ++given) {
      size_t taken = 0;
      EXPECT_TRUE(channel->encrypt({&piece, 1}, &taken));
      sent = channel->send();
    }
    EXPECT_EQ(sent, -1);
    EXPECT_LT(given, 20);
  }
  ::close(ends[0]);
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
