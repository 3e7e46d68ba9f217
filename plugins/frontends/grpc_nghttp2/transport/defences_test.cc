// What hostile clients do on one connection: it ends, or the call does, and it is counted.
#include "atoll/testing/fake_request_memory.h"
#include "atoll/testing/followed_fake.h"
#include "frontends/grpc_nghttp2/transport/testing/transport_fixture.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

class DefencesTest : public TransportTest {
 protected:
  DefencesTest() {
    session_settings_.overhead_a_second = kRate;
    session_settings_.max_streams = 10;
    session_settings_.max_protocol_errors = 10;
  }
  /// Sends the frame again and again, far more often than is allowed. \returns how often it was before the end
  int flood(const std::string& frame, int at_once = 1) {
    std::string frames;
    for (int i = 0; i < at_once; ++i) frames += frame;
    int sent = 0;
    while (connection_ != nullptr && sent < 20 * kBurst) {
      client_->send(frames);
      sent += at_once;
      turn();
    }
    return sent;
  }
  /// Far more than the frames that may bring nothing.
  void send_small_messages() {
    open();
    client_->headers(1, RawClient::call("/s/several"));
    for (int i = 0; i < 10 * kBurst; ++i) {
      client_->data(1, prefixed("x"));
      if (i % 10 == 0) turn();
    }
    turn();
  }
  void expect_closed(ClosedFor reason, const std::string& text) {
    EXPECT_EQ(connection_, nullptr);
    EXPECT_EQ(closed(reason), 1u);
    EXPECT_EQ(client_->goaway_text, text);
    EXPECT_EQ(client_->goaway, text.empty() ? -1 : NGHTTP2_ENHANCE_YOUR_CALM);
    uint64_t sum = 0;
    for (size_t i = 0; i < kClosedForCount; ++i) sum += context_.counters.closed(i);
    EXPECT_EQ(sum, 1u) << "counted for one reason";
    EXPECT_EQ(context_.counters.open_calls(), 0u);
  }
  uint64_t closed(ClosedFor reason) const { return context_.counters.closed(static_cast<size_t>(reason)); }
  uint64_t refused(RefusedFor reason) const { return context_.counters.refused(static_cast<size_t>(reason)); }
  /// As time goes by, with all that happens in it.
  void pass(int64_t ns, int64_t step) {
    for (; ns > 0; ns -= step) {
      clock_.advance(std::min(ns, step));
      turn();
    }
  }
  static std::string setting(uint16_t id, uint32_t value) {
    return std::string(1, static_cast<char>(id >> 8)).append(1, static_cast<char>(id & 0xFF)) +
           RawClient::number(value);
  }

  static constexpr int kRate = 20;
  static constexpr int kBurst = kRate * FloodGuard::kBurstSeconds;
};

struct UselessFrame {
  const char* name;
  uint8_t type;
  uint8_t flags;
  int32_t stream;
  std::string payload;
};

class UselessFrames : public DefencesTest, public ::testing::WithParamInterface<UselessFrame> {};

TEST_P(UselessFrames, EndTheConnection) {
  const UselessFrame& frame = GetParam();
  open();
  client_->headers(1, RawClient::call("/s/several"));
  client_->data(1,
                prefixed(std::string(1'000'000, 'x')).substr(0, 5));  // of a message that is long in coming
  turn();
  const int sent = flood(RawClient::frame(frame.type, frame.flags, frame.stream, frame.payload));
  EXPECT_LE(sent, kBurst + FloodGuard::kFramesOfCall + FloodGuard::kFramesOfMessage);
  EXPECT_GE(sent, kBurst / 2);
  expect_closed(ClosedFor::kOverheadFrames, "too_many_overhead_frames");
  EXPECT_TRUE(call_.gone);
}

INSTANTIATE_TEST_SUITE_P(
    Floods, UselessFrames,
    ::testing::Values(UselessFrame{"window_update", NGHTTP2_WINDOW_UPDATE, 0, 0, RawClient::number(1)},
                      UselessFrame{"window_update_of_a_call", NGHTTP2_WINDOW_UPDATE, 0, 1,
                                   RawClient::number(1)},
                      UselessFrame{"priority", NGHTTP2_PRIORITY, 0, 3, RawClient::number(0) + "\x10"},
                      UselessFrame{"settings", NGHTTP2_SETTINGS, 0, 0, ""},
                      UselessFrame{"ping_ack", NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, "12345678"},
                      UselessFrame{"goaway", NGHTTP2_GOAWAY, 0, 0, std::string(8, '\0')},
                      UselessFrame{"unknown", 0x77, 0xFF, 1, "payload"},
                      UselessFrame{"empty_data", NGHTTP2_DATA, 0, 1, ""},
                      UselessFrame{"padding", NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1,
                                   std::string("\x7F", 1) + std::string(127, '\0')},
                      UselessFrame{"tiny_data", NGHTTP2_DATA, 0, 1, std::string(1, '\0')}),
    [](const auto& flood) { return std::string(flood.param.name); });

TEST_F(DefencesTest, FramesOfCallsThatAreMadeAreNoFlood) {
  open();
  for (int32_t stream = 1; stream < 2000; stream += 2) {
    for (int i = 0; i < 10; ++i) client_->window(0, 1);
    ASSERT_EQ(call(stream, "/s/echo", "x").field("grpc-status"), "0") << stream;
    client_->reset(stream, NGHTTP2_CANCEL);
  }
  ASSERT_NE(connection_, nullptr);
  EXPECT_EQ(context_.counters.calls(), 1000u);
  EXPECT_EQ(context_.counters.open_calls(), 0u);
}

TEST_F(DefencesTest, SmallMessagesOfAStreamAreNoFlood) {
  several_.act = [this](CallStream& stream, Message) {
    stream.attach(call_);
    call_.then = [&stream] { stream.read_next(); };
    stream.read_next();
  };
  send_small_messages();
  EXPECT_NE(connection_, nullptr);
  EXPECT_EQ(call_.texts.size(), static_cast<size_t>(10 * kBurst));
}

TEST_F(DefencesTest, NorAreThoseThatAreNotReadYet) {
  several_.act = [this](CallStream& stream, Message) { stream.attach(call_); };
  send_small_messages();
  EXPECT_NE(connection_, nullptr);
  EXPECT_TRUE(call_.texts.empty());
}

TEST_F(DefencesTest, AWindowThatIsOpenedByteByByteIsAFlood) {
  connect();
  client_->preface(setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
  echo_.act = [&](CallStream& stream, Message) {
    stream.answer(*TextMessage::make(std::string(100'000, 'S'), &sent_));
  };
  client_->headers(1, RawClient::call("/s/echo"));
  client_->data(1, prefixed("x"), true);
  turn();
  flood(RawClient::frame(NGHTTP2_WINDOW_UPDATE, 0, 1, RawClient::number(1)));
  expect_closed(ClosedFor::kOverheadFrames, "too_many_overhead_frames");
  EXPECT_LT(answer(1).data.size(), 2u * kBurst);
  EXPECT_EQ(sent_, 1);
}

TEST_F(DefencesTest, SettingsCostMoreTheMoreCallsThereAre) {
  session_settings_.max_streams = 100;
  open();
  for (int32_t stream = 1; stream < 200; stream += 2) client_->headers(stream, RawClient::call("/s/echo"));
  turn();
  const int sent =
      flood(RawClient::frame(NGHTTP2_SETTINGS, 0, 0, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 70'000)));
  EXPECT_LT(sent, 30);
  expect_closed(ClosedFor::kOverheadFrames, "too_many_overhead_frames");
}

TEST_F(DefencesTest, AnswersToFramesThatAreNotReadDoNotPileUp) {
  session_settings_.overhead_a_second = 1'000'000;
  session_settings_.max_ping_strikes = 0;
  connect(4 * 1024);
  client_->preface();
  for (int i = 0; i < 3000 && connection_ != nullptr; ++i) {
    std::string frames;
    for (int k = 0; k < 100; ++k) frames += RawClient::frame(NGHTTP2_PING, 0, 0, "12345678");
    client_->send(frames);
    loop_.turn(0);
  }
  EXPECT_EQ(connection_, nullptr);
  EXPECT_EQ(closed(ClosedFor::kUnsentFrames), 1u);
}

TEST_F(DefencesTest, ASocketThatTakesAByteNowAndThenIsLeft) {
  ask_for_too_much();
  for (int i = 0; i < 7 && connection_ != nullptr; ++i) {
    client_->read_some(1000);
    clock_.advance(5 * kNsPerSecond);
    for (int k = 0; k < 3; ++k) loop_.turn(0);
  }
  EXPECT_EQ(connection_, nullptr);
  EXPECT_EQ(closed(ClosedFor::kWriteStall), 1u);
  EXPECT_EQ(sent_, 1);
}

TEST_F(DefencesTest, AnAnswerThatIsNotTakenIsGivenUpAndTheOthersGoOn) {
  connect();
  client_->preface(setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 100));
  echo_.act = [&](CallStream& stream, Message message) {
    const size_t size = text_of(message) == "large" ? 100'000 : 10;
    stream.answer(*TextMessage::make(std::string(size, 'S'), &sent_));
  };
  EXPECT_FALSE(call(1, "/s/echo", "large").ended);
  const int64_t timeout = connection_settings_.call_stall_timeout_ns;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(answer(1).reset, -1) << i;
    client_->window(1, 100);  // not enough
    call(3 + 2 * i, "/s/echo", "small");
    EXPECT_TRUE(answer(3 + 2 * i).ended);
    pass(timeout / 4, timeout / 4);
  }
  pass(timeout / 2, timeout / 4);
  EXPECT_EQ(answer(1).reset, NGHTTP2_CANCEL);
  EXPECT_EQ(refused(RefusedFor::kAnswerStall), 1u);
  EXPECT_EQ(sent_, 5);
  EXPECT_EQ(call(21, "/s/echo", "small").field("grpc-status"), "0");
}

TEST_F(DefencesTest, AnAnswerThatIsTakenSlowlyIsNot) {
  connect();
  client_->preface(setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 20'000));
  echo_.act = [&](CallStream& stream, Message) {
    stream.answer(*TextMessage::make(std::string(200'000, 'S'), &sent_));
  };
  call(1, "/s/echo", "x");
  const int64_t timeout = connection_settings_.call_stall_timeout_ns;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(answer(1).reset, -1);
    pass(timeout * 3 / 4, timeout / 4);
    client_->window(1, 20'000);
    client_->window(0, 20'000);
  }
  turn();
  EXPECT_TRUE(answer(1).ended);
  EXPECT_EQ(answer(1).data.size(), 200'005u);
}

TEST_F(DefencesTest, AMessageThatDoesNotComeEndsItsCall) {
  open();
  const std::string message = prefixed(std::string(1000, 'x'));
  client_->headers(1, RawClient::call("/s/echo"));
  client_->headers(3, RawClient::call("/s/echo"));
  client_->headers(5, RawClient::call("/s/several"));
  turn();
  // A call of several messages that has none on its way may wait for ever.
  const int64_t timeout = connection_settings_.call_stall_timeout_ns;
  for (int i = 0; i < 6; ++i) {
    client_->data(3, message.substr(static_cast<size_t>(i), 1));
    pass(timeout / 4, timeout / 4);
  }
  for (int32_t stream : {1, 3}) expect_status(stream, "4", "The message of the call did not come in time");
  EXPECT_EQ(refused(RefusedFor::kMessageStall), 2u);
  EXPECT_FALSE(call_.gone);
  client_->data(5, prefixed("whole") + message.substr(0, 10));
  turn();
  stream_->read_next();
  pass(2 * timeout, timeout / 4);
  expect_status(5, "4", "The message of the call did not come in time");
  EXPECT_TRUE(call_.gone);
  EXPECT_NE(connection_, nullptr);
}

TEST_F(DefencesTest, AFrameThatDoesNotEndHasItsTime) {
  open();
  client_->send(RawClient::frame(NGHTTP2_GOAWAY, 0, 0, std::string(1000, '\0')).substr(0, 500));
  turn();
  pass(connection_settings_.header_timeout_ns - 1, kNsPerSecond);
  EXPECT_NE(connection_, nullptr);
  pass(1, 1);
  expect_closed(ClosedFor::kHeaderTimeout, "");
}

TEST_F(DefencesTest, DataMayBeSlow) {
  open();
  client_->headers(1, RawClient::call("/s/echo"));
  const std::string bytes = RawClient::frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, prefixed("slow"));
  client_->send(bytes.substr(0, bytes.size() - 1));
  turn();
  pass(connection_settings_.header_timeout_ns * 2, kNsPerSecond);
  client_->send(bytes.substr(bytes.size() - 1));
  turn();
  expect_status(1, "0", "");
}

TEST_F(DefencesTest, ALargeGoawayIsNotKept) {
  open();
  const std::string frame = RawClient::frame(NGHTTP2_GOAWAY, 0, 0, std::string(20'000, '\0'));
  client_->send(frame.substr(0, 100));
  turn();
  expect_closed(ClosedFor::kFrameSize, "frame_too_large");
}

TEST_F(DefencesTest, HeadersThatAreTooLargeAreNotWaitedFor) {
  session_settings_.max_metadata_bytes = 1024;
  session_settings_.max_frame_bytes = 16'384;
  open();
  client_->send(RawClient::frame(NGHTTP2_HEADERS, 0, 1, client_->block(RawClient::call("/s/echo"))));
  // Names and values that add up to nothing: changes of the table's size are no headers.
  for (int i = 0; i < 3; ++i) {
    client_->send(RawClient::frame(NGHTTP2_CONTINUATION, 0, 1, std::string(10'000, '\x20')));
  }
  turn();
  EXPECT_EQ(connection_, nullptr);
}

// --- MadeYouReset ---

TEST_F(DefencesTest, ProvokedResetsEndTheConnection) {
  struct Provocation {
    const char* name;
    std::function<void(int32_t)> make;
  };
  const Provocation provocations[] = {
      {"window overflow", [this](int32_t stream) { client_->window(stream, 0x7FFFFFFF); }},
      {"more than content-length", [this](int32_t stream) { client_->data(stream, prefixed("too much")); }},
      {"less than content-length", [this](int32_t stream) { client_->data(stream, "x", true); }},
      {"headers again",
       [this](int32_t stream) {
         client_->headers(stream, {{"a", "b"}});
       }},
  };
  uint64_t ended = 0;
  for (const Provocation& provocation : provocations) {
    open();
    int32_t stream = 1;
    for (; connection_ != nullptr && stream < 100; stream += 2) {
      client_->headers(stream, RawClient::call("/s/several", {{"content-length", "5"}}));
      turn();
      provocation.make(stream);
      turn();
      EXPECT_EQ(context_.counters.open_calls(), 0u) << provocation.name;
    }
    EXPECT_EQ(stream, 1 + 2 * 11) << provocation.name;
    EXPECT_EQ(client_->goaway_text, "too_many_protocol_errors") << provocation.name;
    EXPECT_EQ(closed(ClosedFor::kMalformedCalls), ++ended) << provocation.name;
    EXPECT_EQ(refused(RefusedFor::kMalformed), 11 * ended) << provocation.name;
  }
}

TEST_F(DefencesTest, CallsThatWereResetStillCountWhileTheyRun) {
  session_settings_.max_protocol_errors = 1000;
  std::vector<CallTicket> running;
  held_.act = [&](CallStream& stream, Message) {
    stream.attach(call_);
    running.push_back(stream.take_ticket());
  };
  open();
  for (int32_t stream = 1; stream < 40; stream += 2) {
    client_->headers(stream, RawClient::call("/s/held"));
    client_->data(stream, prefixed("x"));
    turn();
    client_->window(stream, 0x7FFFFFFF);
    turn();
  }
  EXPECT_EQ(running.size(), session_settings_.max_streams);
  EXPECT_EQ(refused(RefusedFor::kRunningCalls), 20u - session_settings_.max_streams);
  EXPECT_EQ(answer(39).reset, NGHTTP2_REFUSED_STREAM);
  running.clear();
  EXPECT_EQ(call(41, "/s/echo", "x").field("grpc-status"), "0");
}

// --- headers ---

TEST_F(DefencesTest, EveryWayToEndAConnectionIsCountedOnce) {
  open();
  client_->send(RawClient::frame(NGHTTP2_HEADERS, 0, 1, client_->block(RawClient::call("/s/echo"))));
  for (int i = 0; i < 20; ++i) client_->send(RawClient::frame(NGHTTP2_CONTINUATION, 0, 1));
  turn();
  EXPECT_EQ(closed(ClosedFor::kContinuations), 1u);
  connect();
  client_->send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  turn();
  EXPECT_EQ(closed(ClosedFor::kHttp2Error), 1u);
  open();
  client_->window(0, 0);
  turn();
  EXPECT_EQ(connection_, nullptr);
  EXPECT_EQ(closed(ClosedFor::kHttp2Error), 2u);
  open();
  for (int i = 0; i < 5; ++i) client_->send(RawClient::frame(NGHTTP2_PING, 0, 0, "12345678"));
  turn();
  EXPECT_EQ(closed(ClosedFor::kPings), 1u);
  connect();
  pass(connection_settings_.header_timeout_ns, kNsPerSecond);
  EXPECT_EQ(closed(ClosedFor::kHeaderTimeout), 1u);
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(DefencesTest, ValuesThatAreIgnoredAreCountedAllTheSame) {
  open();
  // One value that is none in the table, named again and again.
  std::string block = client_->block(RawClient::call("/s/echo", {{"x-bomb", std::string(2'900, '\x01')}}));
  block.append(200, '\xBE');
  client_->send(RawClient::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, block));
  turn();
  expect_closed(ClosedFor::kMetadata, "metadata_too_large");
}

TEST_F(DefencesTest, TrailersAreCountedToo) {
  open();
  std::string block = client_->block(RawClient::call("/s/several", {{"x-bomb", std::string(2'900, 'x')}}));
  client_->send(RawClient::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, block));
  turn();
  client_->send(RawClient::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
                                 std::string(200, '\xBE')));
  turn();
  expect_closed(ClosedFor::kMetadata, "metadata_too_large");
  EXPECT_TRUE(call_.gone);
}

class HeldMemoryTest : public DefencesTest {
 protected:
  HeldMemoryTest() {
    host_.registry().publish<RequestMemory>("provider", memory_);
    EXPECT_TRUE(budgets_.open().ok());
    context_.budgets = &budgets_;
    session_settings_.max_streams = 1000;
  }
  ~HeldMemoryTest() override {
    if (connection_ != nullptr) on_closed(*connection_);
    EXPECT_EQ(memory_.used_bytes(), 0u);
  }
  test::FakeHost host_{"frontend"};
  test::FakeRequestMemory memory_{1 << 20};
  RequestBudgets budgets_{host_};
};

TEST_F(HeldMemoryTest, HeadersOfManyCallsAreMemoryOfRequests) {
  open();
  // 60 KiB each, of some 30 bytes from the second one on.
  int32_t stream = 1;
  for (; refused(RefusedFor::kMemory) == 0 && stream < 200; stream += 2) {
    client_->headers(stream, RawClient::call("/s/several", Fields(20, {"x-bomb", std::string(2'900, 'x')})));
    turn();
  }
  EXPECT_GE(stream, 2 * 16);
  EXPECT_LE(stream, 2 * 20);
  EXPECT_EQ(answer(stream - 2).field("grpc-status"), "8");
  EXPECT_NE(connection_, nullptr);
  // What was refused holds nothing, and calls that end make room.
  for (int32_t done = 1; done < stream - 2; done += 2) client_->reset(done, NGHTTP2_CANCEL);
  turn();
  EXPECT_EQ(memory_.used_bytes(), 0u);
  EXPECT_EQ(call(stream, "/s/echo", "x").field("grpc-status"), "0");
}

TEST_F(HeldMemoryTest, SoAreThePartsOfMessages) {
  open();
  const std::string part = prefixed(std::string(16'000, 'x')).substr(0, 6);
  int32_t stream = 1;
  for (; refused(RefusedFor::kMemory) == 0 && stream < 400; stream += 2) {
    client_->headers(stream, RawClient::call("/s/echo"));
    client_->data(stream, part);
    turn();
  }
  EXPECT_LE(stream, 2 * 80);
  EXPECT_EQ(answer(stream - 2).field("grpc-status"), "8");
  client_->data(1, prefixed(std::string(16'000, 'x')).substr(6), true);
  turn();
  EXPECT_EQ(answer(1).field("grpc-status"), "0");
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
