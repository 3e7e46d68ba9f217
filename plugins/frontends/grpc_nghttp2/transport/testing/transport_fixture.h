/// A connection on a loop that the test turns, methods behind it and a hand-made client before it.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "frontends/grpc_nghttp2/transport/connection.h"
#include "frontends/grpc_nghttp2/transport/testing/raw_client.h"

namespace atl::frontends::grpc_nghttp2 {

/// A message that frees itself when it was sent.
class TextMessage final : public OutgoingMessage {
 public:
  /// \param sent    counts those that were
  /// \param pieces  how many pieces of memory the text is in
  static TextMessage* make(std::string_view text, int* sent, size_t pieces = 1) {
    auto* message = new TextMessage(sent);
    message->begin(0);
    const size_t each = text.size() / pieces + 1;
    message->parts_.reserve(pieces);
    for (size_t at = 0; at < text.size(); at += each) message->parts_.emplace_back(text.substr(at, each));
    for (const std::string& part : message->parts_) {
      message->add({reinterpret_cast<const uint8_t*>(part.data()), part.size()});
    }
    message->end();
    return message;
  }
  virtual ~TextMessage() = default;

 private:
  explicit TextMessage(int* sent) : sent_(sent) {}
  void on_sent() noexcept override {
    ++*sent_;
    delete this;
  }
  std::vector<std::string> parts_;
  int* sent_;
};

inline std::string text_of(const Message& message) {
  return {reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()};
}

/// Notes what calls are told.
class NotingCall final : public Call {
 public:
  void on_message(Message message) noexcept override {
    texts.push_back(text_of(message));
    if (then) then();
  }
  void on_half_close() noexcept override { half_closed = true; }
  void on_gone() noexcept override { gone = true; }
  std::function<void()> then;
  std::vector<std::string> texts;
  bool half_closed = false;
  bool gone = false;
};

/// Does what the test says.
class TestMethod final : public Method {
 public:
  void begin(CallStream& stream, Message message) noexcept override {
    ++begun;
    act(stream, std::move(message));
  }
  std::function<void(CallStream&, Message)> act;
  int begun = 0;
};

class TransportTest : public ::testing::Test, protected MethodFinder, protected ConnectionHome {
 protected:
  TransportTest() {
    EXPECT_TRUE(loop_.open().ok());
    EXPECT_TRUE(rules_.open().ok());
    echo_.max_message_bytes = held_.max_message_bytes = several_.max_message_bytes = 1 << 20;
    echo_.act = [this](CallStream& stream, Message message) {
      stream.answer(*TextMessage::make(text_of(message), &sent_));
    };
    held_.act = [this](CallStream& stream, Message message) {
      stream.attach(call_);
      stream_ = &stream;
      message_ = std::move(message);
      ticket_ = stream.take_ticket();
    };
    several_.reads_several = true;
    several_.act = [this](CallStream& stream, Message) {
      stream.attach(call_);
      stream_ = &stream;
      stream.read_next();
    };
  }
  ~TransportTest() override {
    if (connection_ != nullptr) on_closed(*connection_);
  }

  Method* find(std::string_view path) noexcept override {
    if (path == "/s/echo") return &echo_;
    if (path == "/s/held") return &held_;
    return path == "/s/several" ? &several_ : nullptr;
  }
  void on_closed(Connection& connection) noexcept override {
    connection_ = nullptr;
    delete &connection;
  }

  void on_tls_failure(const Connection&, std::string_view why) noexcept override {
    tls_failures_.emplace_back(why);
  }
  /// What is between the client and the server goes on. \returns whether it has carried anything
  virtual bool carry() { return false; }

  /// \param socket_bytes  not 0: what the server's socket takes before its client reads, about
  virtual void connect(int socket_bytes = 0) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    if (socket_bytes != 0) setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &socket_bytes, sizeof socket_bytes);
    client_ = std::make_unique<RawClient>(ends[1]);
    connection_ = new Connection(ends[0], context_, receive_, connection_settings_, *this);
    connection_->start();
  }
  /// A connection whose client has sent its preface.
  void open(int socket_bytes = 0) {
    connect(socket_bytes);
    client_->preface();
    turn();
    client_->send(RawClient::frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0));
    turn();
  }
  /// Both sides go on until nothing happens any more.
  void turn() {
    for (int quiet = 0; quiet < 2; ++quiet) {
      const size_t before = client_->frames.size();
      bool carried = carry();
      loop_.turn(0);
      carried |= carry();
      client_->read();
      if (carried || client_->frames.size() != before) quiet = 0;
    }
  }
  Answer& answer(int32_t stream) { return client_->answers[stream]; }
  /// One whole call.
  const Answer& call(int32_t stream, const std::string& path, const std::string& text,
                     const Fields& more = {}) {
    client_->headers(stream, RawClient::call(path, more));
    client_->data(stream, prefixed(text), true);
    turn();
    return answer(stream);
  }
  /// The client asks for more than the socket takes, and reads nothing.
  void ask_for_too_much() {
    connect(4 * 1024);
    client_->preface(std::string("\x00\x04", 2) + RawClient::number(1 << 30));
    client_->window(0, 1 << 30);
    echo_.act = [this](CallStream& stream, Message) {
      stream.answer(*TextMessage::make(std::string(2'000'000, 'S'), &sent_));
    };
    client_->headers(1, RawClient::call("/s/echo"));
    client_->data(1, prefixed("x"), true);
    for (int i = 0; i < 5; ++i) loop_.turn(0);
  }
  void expect_status(int32_t stream, const std::string& code, const std::string& text) {
    EXPECT_EQ(answer(stream).field("grpc-status"), code);
    EXPECT_EQ(answer(stream).field("grpc-message"), text.empty() ? "(none)" : text);
    EXPECT_TRUE(answer(stream).ended);
  }

  test::FakeClock clock_;
  EventLoop loop_{clock_};
  SessionRules rules_;
  SessionSettings session_settings_;
  ConnectionSettings connection_settings_;
  BufferPool buffers_;
  StreamPool streams_;
  ReceiveBuffer receive_;
  SessionContext context_{loop_, rules_, *this, session_settings_, buffers_, streams_};
  TestMethod echo_;
  TestMethod held_;
  TestMethod several_;
  NotingCall call_;
  CallStream* stream_ = nullptr;
  Message message_;
  CallTicket ticket_;
  int sent_ = 0;
  std::vector<std::string> tls_failures_;
  std::unique_ptr<RawClient> client_;
  Connection* connection_ = nullptr;
};

}  // namespace atl::frontends::grpc_nghttp2
