#include <random>

#include "frontends/grpc_nghttp2/transport/testing/transport_fixture.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

constexpr size_t kMessageBytes = 900'000;

/// Large messages, in frames of any order and size.
class LargeMessagesTest : public TransportTest {
 protected:
  LargeMessagesTest() { session_settings_.initial_window = session_settings_.connection_window = 64 << 20; }

  static std::string text(int32_t stream, size_t bytes) {
    std::string made(bytes, '\0');
    std::minstd_rand random(static_cast<uint32_t>(stream));
    for (char& byte : made) byte = static_cast<char>(random());
    return made;
  }
  /// Sends as the server reads.
  void send(std::string_view bytes, size_t piece = 50'000) {
    while (!bytes.empty()) {
      client_->send(bytes.substr(0, piece));
      bytes.remove_prefix(std::min(piece, bytes.size()));
      turn();
    }
  }
  void open_calls(int count, const std::string& path = "/s/echo") {
    open();
    client_->window(0, 1 << 30);
    for (int i = 0; i < count; ++i) {
      const int32_t stream = 2 * i + 1;
      client_->headers(stream, RawClient::call(path));
      client_->window(stream, 1 << 24);
      left_[stream] = prefixed(text(stream, kMessageBytes));
    }
  }
  /// The next frame of a call's message.
  std::string next(int32_t stream, size_t bytes = 16'384) {
    std::string& left = left_[stream];
    const std::string payload = left.substr(0, bytes);
    left.erase(0, payload.size());
    return RawClient::frame(NGHTTP2_DATA, left.empty() ? NGHTTP2_FLAG_END_STREAM : 0, stream, payload);
  }
  void expect_echo(int32_t stream) {
    turn();
    expect_status(stream, "0", "");
    EXPECT_TRUE(answer(stream).data == prefixed(text(stream, kMessageBytes))) << stream;
  }

  std::map<int32_t, std::string> left_;
};

TEST_F(LargeMessagesTest, OneAfterTheOther) {
  open_calls(2);
  for (const int32_t stream : {1, 3}) {
    while (!left_[stream].empty()) client_->send(next(stream)), turn();
    expect_echo(stream);
  }
}

TEST_F(LargeMessagesTest, ByTurns) {
  open_calls(4);
  std::string bytes;
  while (!left_[1].empty()) {
    for (const int32_t stream : {1, 3, 5, 7}) bytes += next(stream);
  }
  send(bytes, 150'000);
  for (const int32_t stream : {1, 3, 5, 7}) expect_echo(stream);
}

TEST_F(LargeMessagesTest, ManyOnOneStream) {
  constexpr int kMessages = 3;
  std::vector<std::string> texts;
  several_.act = [&](CallStream& stream, Message) {
    stream.attach(call_);
    call_.then = [&stream] { stream.read_next(); };
    stream.read_next();
  };
  open_calls(1, "/s/several");
  std::string bytes;
  for (int i = 0; i < kMessages; ++i) {
    left_[1] = prefixed(text(i, kMessageBytes));
    while (!left_[1].empty()) bytes += RawClient::frame(NGHTTP2_DATA, 0, 1, next(1).substr(9));
  }
  send(bytes, 150'000);
  ASSERT_EQ(call_.texts.size(), static_cast<size_t>(kMessages));
  for (int i = 0; i < kMessages; ++i)
    EXPECT_TRUE(call_.texts[static_cast<size_t>(i)] == text(i, kMessageBytes)) << i;
}

TEST_F(LargeMessagesTest, AStreamThatIsResetAmongOthers) {
  open_calls(3);
  std::string bytes;
  for (int turn = 0; turn < 30; ++turn) {
    for (const int32_t stream : {1, 3, 5}) bytes += next(stream);
  }
  bytes += RawClient::frame(NGHTTP2_RST_STREAM, 0, 3, RawClient::number(NGHTTP2_CANCEL));
  while (!left_[1].empty()) bytes += next(1) + next(5);
  send(bytes, 150'000);
  expect_echo(1);
  expect_echo(5);
  EXPECT_TRUE(answer(3).data.empty());
}

TEST_F(LargeMessagesTest, AConnectionThatEndsInTheMiddle) {
  open_calls(2, "/s/held");
  std::string bytes;
  for (int turn = 0; turn < 20; ++turn) bytes += next(1) + next(3);
  send(bytes, 150'000);
  client_->hang_up();
  turn();
  EXPECT_EQ(connection_, nullptr);
}

/// Whatever is guessed, what comes out is what went in.
TEST_F(LargeMessagesTest, AnyOrder) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    if (connection_ != nullptr) on_closed(*connection_);
    std::minstd_rand random(seed);
    const int calls = 1 + static_cast<int>(random() % 5);
    open_calls(calls);
    std::string bytes;
    const auto add = [&](int32_t stream) {
      const size_t size = random() % 8 == 0 ? 1 + random() % 20'000 : 16'384;
      if (!left_[stream].empty()) bytes += next(stream, size);
      if (random() % 30 == 0)
        bytes += RawClient::frame(NGHTTP2_PRIORITY, 0, stream, std::string("\0\0\0\0\1", 5));
      if (random() % 30 == 0 && !left_[stream].empty()) {
        const std::string payload = std::string(1, 9) + next(stream, 100).substr(9) + std::string(9, 0);
        const uint8_t end = left_[stream].empty() ? NGHTTP2_FLAG_END_STREAM : 0;
        bytes += RawClient::frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED | end, stream, payload);
      }
    };
    for (bool more = true; more;) {
      more = false;
      // Long runs of one call, then turns, then anything.
      const auto mode = random() % 3;
      const int32_t one = 2 * static_cast<int32_t>(random() % static_cast<uint32_t>(calls)) + 1;
      for (int i = 0; i < 40; ++i) {
        add(mode == 0 ? one : 2 * (mode == 1 ? i % calls : static_cast<int>(random()) % calls) + 1);
      }
      for (int i = 0; i < calls; ++i) more |= !left_[2 * i + 1].empty();
    }
    send(bytes, (seed % 2 == 0 ? 100'000 : 2'000) + random() % 50'000);
    SCOPED_TRACE(seed);
    for (int i = 0; i < calls; ++i) expect_echo(2 * i + 1);
  }
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
