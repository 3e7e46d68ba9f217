#include "frontends/grpc_nghttp2/transport/frames/repeated_headers.h"

#include "frontends/grpc_nghttp2/transport/testing/transport_fixture.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

using Seen = RepeatedHeaders::Seen;

std::span<const uint8_t> frame_bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
std::string headers_frame(std::string_view block, uint8_t flags = NGHTTP2_FLAG_END_HEADERS,
                          int32_t stream = 1) {
  return RawClient::frame(NGHTTP2_HEADERS, flags, stream, block);
}

TEST(RepeatedHeadersTest, AListThatChangesTheTableIsNotRemembered) {
  RepeatedHeaders repeated;
  const std::string_view kBlocks[] = {
      std::string_view("\x83\x40\x01k\x01v", 6),  // a new name and a value for the table
      std::string_view("\x83\x41\x01v", 4),       // a value for it
      std::string_view("\x20\x83", 2),            // its size
      std::string_view("\x83\x00\x01k\x05v", 6),  // cut
      std::string_view("\xFF\xFF\xFF\xFF\xFF", 5)};
  for (const std::string_view block : kBlocks) {
    EXPECT_EQ(repeated.look(frame_bytes(headers_frame(block))), Seen::kOther);
  }
}

TEST(RepeatedHeadersTest, OnlyPlainFramesWithAllFieldsAre) {
  RepeatedHeaders repeated;
  const std::string block = "\x83\x86\x84";
  for (const uint8_t flags : {0x0, 0x5, 0xC, 0x24}) {
    EXPECT_EQ(repeated.look(frame_bytes(headers_frame(block, flags))), Seen::kOther) << int{flags};
  }
  EXPECT_EQ(repeated.look(frame_bytes(RawClient::frame(NGHTTP2_CONTINUATION, 4, 1, block))), Seen::kOther);
  EXPECT_EQ(repeated.look(frame_bytes(headers_frame(std::string(2000, '\x83')))), Seen::kOther);
  EXPECT_EQ(repeated.look(frame_bytes(headers_frame(block))), Seen::kStable);
}

TEST(RepeatedHeadersTest, IsKnownWhenAllFieldsWereToldUntilAnythingElseComes) {
  RepeatedHeaders repeated;
  // POST, and as texts the path "/s", the authority "a" and the length "7".
  const std::string rest = std::string("\x01\x01", 2) + "a" + "\x0f\x0d\x01" + "7";
  const std::string frame = headers_frame(std::string("\x83\x04\x02", 3) + "/s" + rest);
  const auto notify = [&repeated] {
    repeated.on_field(":method", "POST");
    repeated.on_field(":path", "/s");
    repeated.on_field(":authority", "a");
  };
  ASSERT_EQ(repeated.look(frame_bytes(frame)), Seen::kStable);
  notify();
  repeated.keep({});
  EXPECT_EQ(repeated.look(frame_bytes(frame)), Seen::kStable);
  notify();
  repeated.on_field("content-length", "7");
  CallHeaders headers;
  headers.metadata.add("x", "y");
  repeated.keep(headers);
  const std::string later = headers_frame(frame.substr(9), NGHTTP2_FLAG_END_HEADERS, 3);
  ASSERT_EQ(repeated.look(frame_bytes(later)), Seen::kRepeated);
  EXPECT_EQ(repeated.path(), "/s");
  EXPECT_EQ(repeated.headers().metadata.find("x"), "y");
  RepeatedHeaders::ShortFrame room;
  const std::span<const uint8_t> shortened = repeated.shorten(frame_bytes(later), &room);
  EXPECT_EQ(std::string(shortened.begin(), shortened.end()),
            headers_frame("\x83\x86\x84" + rest, NGHTTP2_FLAG_END_HEADERS, 3));
  EXPECT_EQ(repeated.look(frame_bytes(headers_frame("\x83"))), Seen::kStable);
  EXPECT_EQ(repeated.look(frame_bytes(later)), Seen::kStable);
}

/// Whole connections.
class RepeatedCallsTest : public TransportTest {
 protected:
  void begin(int32_t stream, const Fields& more) {
    client_->headers(stream, RawClient::call("/s/held", more));
    client_->data(stream, prefixed("x"), true);
    turn();
  }
  Fields metadata() const {
    const HeaderList& list = stream_->metadata();
    Fields fields;
    for (size_t i = 0; i < list.size(); ++i) fields.emplace_back(list[i].name, list[i].value);
    return fields;
  }
};

TEST_F(RepeatedCallsTest, SayTheSame) {
  open();
  const Fields more = {{"grpc-timeout", "5S"},
                       {"grpc-encoding", "gzip"},
                       {"grpc-accept-encoding", "gzip"},
                       {"user-agent", "test/1"},
                       {"x-bin", "YQ"}};
  for (int32_t stream = 1; stream < 11; stream += 2) {
    begin(stream, more);
    EXPECT_EQ(metadata(), (Fields{{"user-agent", "test/1"}, {"x-bin", "a"}}));
    EXPECT_EQ(stream_->headers().encoding, MessageEncoding::kGzip);
    EXPECT_TRUE(stream_->headers().accepts(MessageEncoding::kGzip));
    EXPECT_FALSE(stream_->headers().accepts(MessageEncoding::kDeflate));
    EXPECT_EQ(stream_->deadline_ns() - stream_->began_ns(), 5 * kNsPerSecond);
    EXPECT_EQ(text_of(message_), "x");
    stream_->finish(0, {});
  }
  EXPECT_EQ(held_.begun, 5);
}

TEST_F(RepeatedCallsTest, OthersBetweenThemAreRead) {
  open();
  int32_t stream = 1;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 3; ++i, stream += 2) {
      begin(stream, {{"x-key", "same"}});
      EXPECT_EQ(metadata(), (Fields{{"x-key", "same"}}));
      stream_->finish(0, {});
    }
    // The table moves on.
    begin(stream, {{"x-key", "other" + std::to_string(round)}});
    EXPECT_EQ(metadata(), (Fields{{"x-key", "other" + std::to_string(round)}}));
    stream_->finish(0, {});
    stream += 2;
    EXPECT_EQ(call(stream, "/s/echo", "e").data, prefixed("e"));
    stream += 2;
    EXPECT_EQ(call(stream, "/s/nothing", "n").field("grpc-status"), "12");
    stream += 2;
  }
}

TEST_F(RepeatedCallsTest, AreHeldToTheLengthThatTheySay) {
  open();
  const Fields more = {{"content-length", "6"}};
  int32_t stream = 1;
  for (; stream < 9; stream += 2) {
    EXPECT_EQ(call(stream, "/s/echo", "x", more).data, prefixed("x"));
  }
  client_->headers(stream, RawClient::call("/s/held", more));
  client_->headers(stream + 2, RawClient::call("/s/held", more));
  client_->data(stream + 2, prefixed("too long"), true);
  turn();
  EXPECT_EQ(answer(stream + 2).reset, NGHTTP2_PROTOCOL_ERROR);
}

TEST_F(RepeatedCallsTest, MayComeInPieces) {
  open();
  int32_t stream = 1;
  for (; stream < 7; stream += 2) EXPECT_EQ(call(stream, "/s/echo", "whole").data, prefixed("whole"));
  const std::string one = client_->block(RawClient::call("/s/echo"));
  for (size_t cut = 1; cut < 9 + one.size() + 9 + 6; ++cut, stream += 2) {
    const std::string all = headers_frame(one, NGHTTP2_FLAG_END_HEADERS, stream) +
                            RawClient::frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, prefixed("p"));
    client_->send(all.substr(0, cut));
    turn();
    client_->send(all.substr(cut));
    turn();
    EXPECT_EQ(answer(stream).data, prefixed("p")) << cut;
    EXPECT_EQ(answer(stream).field("grpc-status"), "0") << cut;
  }
}

TEST_F(RepeatedCallsTest, ManyAtOnceGoThroughTheInlineBudget) {
  session_settings_.inline_budget = 3;
  open();
  std::string all;
  constexpr int32_t kCalls = 50;
  for (int32_t i = 0; i < kCalls; ++i) {
    all += headers_frame(client_->block(RawClient::call("/s/echo")), NGHTTP2_FLAG_END_HEADERS, 2 * i + 1);
    all += RawClient::frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 2 * i + 1, prefixed(std::to_string(i)));
  }
  client_->send(all);
  turn();
  for (int32_t i = 0; i < kCalls; ++i) EXPECT_EQ(answer(2 * i + 1).data, prefixed(std::to_string(i)));
  EXPECT_EQ(echo_.begun, kCalls);
}

TEST_F(RepeatedCallsTest, AsTrailersAreAnError) {
  open();
  for (int32_t stream = 1; stream < 7; stream += 2) call(stream, "/s/echo", "x");
  client_->headers(7, RawClient::call("/s/held"));
  client_->headers(7, RawClient::call("/s/held"));
  turn();
  EXPECT_EQ(answer(7).reset, NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(call(9, "/s/echo", "x").data, prefixed("x"));
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
