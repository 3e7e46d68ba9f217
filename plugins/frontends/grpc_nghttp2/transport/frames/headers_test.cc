// What headers may be, and what is answered to those that may not.
#include "frontends/grpc_nghttp2/transport/testing/transport_fixture.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

class HeadersTest : public TransportTest {
 protected:
  /// Sends the fields and a message.
  void call_with(int32_t stream, const Fields& fields) {
    client_->headers(stream, fields);
    client_->data(stream, prefixed("x"), true);
    turn();
  }
  static Fields without(const std::string& name) {
    Fields fields = RawClient::call("/s/echo");
    std::erase_if(fields, [&](const auto& field) { return field.first == name; });
    return fields;
  }
  static Fields with(const std::string& name, const std::string& value) {
    Fields fields = RawClient::call("/s/echo");
    for (auto& field : fields) {
      if (field.first == name) field.second = value;
    }
    return fields;
  }
};

TEST_F(HeadersTest, UnknownPathsAreUnimplementedWithoutAText) {
  open();
  call_with(1, RawClient::call("/s/nothing"));
  expect_status(1, "12", "");
  call_with(3, RawClient::call("/grpc.health.v1.Health/Watch"));
  expect_status(3, "12", "");
}

TEST_F(HeadersTest, OnlyPostWithTrailersIsGrpc) {
  open();
  call_with(1, with(":method", "GET"));
  expect_status(1, "2", "Bad method header");
  call_with(3, with(":method", "PUT"));
  expect_status(3, "2", "Bad method header");
  call_with(5, without("te"));
  expect_status(5, "2", "Missing :te header");
  EXPECT_EQ(echo_.begun, 0);
}

TEST_F(HeadersTest, AnyContentTypeIsTaken) {
  open();
  call_with(1, without("content-type"));
  call_with(3, with("content-type", "application/grpc+json"));
  EXPECT_EQ(answer(1).field("grpc-status"), "0");
  EXPECT_EQ(answer(3).field("grpc-status"), "0");
  EXPECT_EQ(answer(3).field("content-type"), "application/grpc");
}

TEST_F(HeadersTest, BlanksAroundAValueAreNoPartOfIt) {
  std::vector<std::string> seen;
  echo_.act = [&](CallStream& stream, Message) {
    for (size_t i = 0; i < stream.metadata().size(); ++i) {
      seen.push_back(cat(stream.metadata()[i].name, "=[", stream.metadata()[i].value, "]"));
    }
    stream.finish(0, {});
  };
  open();
  // Twice: the second list is the same bytes, and is not read again.
  for (int32_t stream : {1, 3}) {
    Fields fields = RawClient::call("/s/echo");
    fields.insert(fields.end(),
                  {{"a", " front"}, {"b", "back "}, {"c", "\t both \t"}, {"d", " "}, {"e", "in side"}});
    call_with(stream, fields);
    EXPECT_EQ(seen, (std::vector<std::string>{"a=[front]", "b=[back]", "c=[both]", "d=[]", "e=[in side]"}));
    seen.clear();
  }
}

TEST_F(HeadersTest, MetadataOfAllOpenCallsOfAConnectionAreBounded) {
  session_settings_.max_held_metadata_bytes = 100'000;
  session_settings_.max_streams = 100;
  held_.act = [this](CallStream& stream, Message) { stream.attach(call_); };
  open();
  Fields fields = RawClient::call("/s/held");
  fields.emplace_back("large", std::string(30'000, 'v'));
  for (int32_t stream = 1; stream < 20; stream += 2) {
    client_->headers(stream, fields);
    turn();
  }
  for (int32_t stream = 1; stream < 7; stream += 2) EXPECT_FALSE(answer(stream).ended) << stream;
  for (int32_t stream = 7; stream < 20; stream += 2) {
    expect_status(stream, "8", "received initial metadata of all calls of the connection exceeds limit");
  }
  EXPECT_NE(connection_, nullptr);
  // Those that are refused hold nothing, and what has ended makes room.
  client_->reset(1, NGHTTP2_CANCEL);
  for (int32_t stream : {21, 23}) {
    client_->headers(stream, fields);
    turn();
  }
  EXPECT_FALSE(answer(21).ended);
  expect_status(23, "8", "received initial metadata of all calls of the connection exceeds limit");
}

TEST_F(HeadersTest, MalformedOnesAreReset) {
  open();
  call_with(1, with("te", "gzip"));
  call_with(3, without(":path"));
  call_with(5, without(":scheme"));
  call_with(7, with(":path", "no/slash"));
  call_with(9, RawClient::call("/s/echo", {{"Upper-Case", "x"}}));
  for (int32_t stream : {1, 3, 5, 7, 9}) EXPECT_EQ(answer(stream).reset, NGHTTP2_PROTOCOL_ERROR) << stream;
  EXPECT_EQ(echo_.begun, 0);
  EXPECT_EQ(call(11, "/s/echo", "x").field("grpc-status"), "0");
}

TEST_F(HeadersTest, ManyMalformedOnesEndTheConnection) {
  session_settings_.max_protocol_errors = 10;
  open();
  for (int32_t stream = 1; stream <= 2 * 10 + 1; stream += 2) call_with(stream, without(":path"));
  EXPECT_EQ(client_->goaway, NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_EQ(client_->goaway_text, "too_many_protocol_errors");
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(HeadersTest, MetadataIsWhatTheClientAdded) {
  open();
  call_with(1, RawClient::call("/s/held", {{"grpc-timeout", "10S"},
                                           {"grpc-accept-encoding", "gzip"},
                                           {"user-agent", "test/1"},
                                           {"x-key", "one"},
                                           {"x-key", "two"},
                                           {"grpc-tags", "mine"}}));
  const HeaderList& list = stream_->metadata();
  Fields seen;
  for (size_t i = 0; i < list.size(); ++i) seen.emplace_back(list[i].name, list[i].value);
  EXPECT_EQ(seen,
            (Fields{{"user-agent", "test/1"}, {"x-key", "one"}, {"x-key", "two"}, {"grpc-tags", "mine"}}));
  stream_->finish(0, {});
}

TEST_F(HeadersTest, BinaryValuesAreDecoded) {
  open();
  call_with(1, RawClient::call("/s/held", {{"x-bin", "YQ==,Yg"}, {"y-bin", ""}}));
  const HeaderList& list = stream_->metadata();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].value, "a");
  EXPECT_EQ(list[1].value, "b");
  stream_->finish(0, {});
  call_with(3, RawClient::call("/s/echo", {{"x-bin", "not base64!"}}));
  expect_status(3, "13", "Error parsing 'x-bin' metadata: illegal base64 encoding");
}

TEST_F(HeadersTest, AnEncodingThatIsNotKnownIsSaidWithThoseThatAre) {
  open();
  call_with(1, RawClient::call("/s/echo", {{"grpc-encoding", "br"}}));
  expect_status(1, "12", "grpc-encoding 'br' is not supported, expected identity, deflate or gzip");
  EXPECT_EQ(answer(1).field("grpc-accept-encoding"), "identity, deflate, gzip");
}

TEST_F(HeadersTest, ATimeoutThatIsNoneIsIgnored) {
  open();
  call_with(1, RawClient::call("/s/echo", {{"grpc-timeout", "soon"}}));
  EXPECT_EQ(answer(1).field("grpc-status"), "0");
  call_with(3, RawClient::call("/s/echo", {{"grpc-timeout", "0n"}}));
  expect_status(3, "4", "Deadline Exceeded");
  EXPECT_EQ(echo_.begun, 1);
}

TEST_F(HeadersTest, TooMuchMetadataIsRefusedAndTheConnectionLives) {
  open();
  call_with(1, RawClient::call("/s/echo", {{"x-long", std::string(63'000, 'x')}}));
  EXPECT_EQ(answer(1).field("grpc-status"), "0");
  for (int32_t stream : {3, 5}) {
    Fields fields = RawClient::call("/s/echo");
    for (int i = 0; i < (stream == 3 ? 5 : 95); ++i) {
      fields.emplace_back("x-" + std::to_string(i), std::string(stream == 3 ? 14'000 : 1, 'y'));
    }
    // Larger than a frame.
    const std::string block = client_->block(fields);
    constexpr size_t kFrame = 16'384;
    client_->send(RawClient::frame(NGHTTP2_HEADERS, block.size() > kFrame ? 0 : NGHTTP2_FLAG_END_HEADERS,
                                   stream, block.substr(0, kFrame)));
    for (size_t at = kFrame; at < block.size(); at += kFrame) {
      client_->send(RawClient::frame(NGHTTP2_CONTINUATION,
                                     at + kFrame >= block.size() ? NGHTTP2_FLAG_END_HEADERS : 0, stream,
                                     block.substr(at, kFrame)));
    }
    turn();
    expect_status(stream, "8", "received initial metadata size exceeds limit");
  }
  EXPECT_EQ(call(7, "/s/echo", "x").field("grpc-status"), "0");
}

TEST_F(HeadersTest, FarTooMuchEndsTheConnection) {
  open();
  // One field of 3 KiB in the table, named again and again: a few bytes each.
  std::string block = client_->block(RawClient::call("/s/echo", {{"x-bomb", std::string(2'900, 'x')}}));
  block.append(2'000, '\xBE');
  client_->send(RawClient::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, block));
  turn();
  EXPECT_EQ(client_->goaway, NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_EQ(connection_, nullptr);
  EXPECT_EQ(echo_.begun, 0);
}

TEST_F(HeadersTest, AValueThatIsTooLongIsRefusedBeforeTheConnectionEnds) {
  open();
  std::string block = client_->block(RawClient::call("/s/echo"));
  block.append("\0\x01x\x7F", 4).append("\xFF\xFF\x03", 3).append(65'662, 'v');  // without Huffman's code
  client_->send(RawClient::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, block));
  turn();
  expect_status(1, "8", "received initial metadata size exceeds limit");
  EXPECT_EQ(client_->goaway, NGHTTP2_COMPRESSION_ERROR);
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(HeadersTest, ContinuationsWithoutEndEndTheConnection) {
  open();
  client_->send(RawClient::frame(NGHTTP2_HEADERS, 0, 1, client_->block(RawClient::call("/s/echo"))));
  for (int i = 0; i < 20; ++i) client_->send(RawClient::frame(NGHTTP2_CONTINUATION, 0, 1));
  turn();
  EXPECT_EQ(connection_, nullptr);
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
