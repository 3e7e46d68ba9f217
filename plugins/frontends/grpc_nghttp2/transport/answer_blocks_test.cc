#include "frontends/grpc_nghttp2/transport/answer_blocks.h"

#include "frontends/grpc_nghttp2/transport/testing/transport_fixture.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// A client's table, and what it makes of blocks.
class AnswerBlocksTest : public ::testing::Test {
 protected:
  AnswerBlocksTest() { nghttp2_hd_inflate_new(&inflater_); }
  ~AnswerBlocksTest() override { nghttp2_hd_inflate_del(inflater_); }

  Fields head(MessageEncoding encoding = MessageEncoding::kIdentity) {
    size_ = blocks_.write_head(encoding, block_.data());
    return read();
  }
  Fields end(int code) {
    size_ = blocks_.write_end(code, block_.data());
    return read();
  }
  Fields read() {
    EXPECT_LE(size_, block_.size());
    std::vector<uint8_t> bytes = std::exchange(table_size_, {});
    bytes.insert(bytes.end(), block_.begin(), block_.begin() + static_cast<ptrdiff_t>(size_));
    Fields fields;
    const uint8_t* at = bytes.data();
    for (int flags = 0; (flags & NGHTTP2_HD_INFLATE_FINAL) == 0;) {
      nghttp2_nv field{};
      const size_t left = bytes.size() - static_cast<size_t>(at - bytes.data());
      const ssize_t taken = nghttp2_hd_inflate_hd2(inflater_, &field, &flags, at, left, 1);
      EXPECT_GE(taken, 0);
      if (taken < 0) break;
      at += taken;
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0) continue;
      fields.emplace_back(std::string(reinterpret_cast<char*>(field.name), field.namelen),
                          std::string(reinterpret_cast<char*>(field.value), field.valuelen));
    }
    nghttp2_hd_inflate_end_headers(inflater_);
    return fields;
  }
  /// As the client asks for it and is told.
  void change_table(uint32_t bytes) {
    blocks_.on_table_size(bytes);
    EXPECT_EQ(nghttp2_hd_inflate_change_table_size(inflater_, bytes), 0);
    // In front of the next block: a number of five bits.
    table_size_ = {0x3F};
    for (bytes -= 31; bytes >= 0x80; bytes >>= 7) table_size_.push_back(static_cast<uint8_t>(bytes | 0x80));
    table_size_.push_back(static_cast<uint8_t>(bytes));
  }

  const Fields kHead = {{":status", "200"},
                        {"content-type", "application/grpc"},
                        {"grpc-accept-encoding", "identity, deflate, gzip"}};
  AnswerBlocks blocks_;
  std::array<uint8_t, AnswerBlocks::kMostBytes> block_{};
  size_t size_ = 0;
  std::vector<uint8_t> table_size_;
  nghttp2_hd_inflater* inflater_ = nullptr;
};

TEST_F(AnswerBlocksTest, FieldsAreNamedByTheirPlacesFromTheSecondTimeOn) {
  EXPECT_EQ(head(), kHead);
  EXPECT_GT(size_, 40u);
  EXPECT_EQ(head(), kHead);
  EXPECT_EQ(size_, 3u);
  EXPECT_EQ(end(0), (Fields{{"grpc-status", "0"}}));
  EXPECT_GT(size_, 10u);
  EXPECT_EQ(end(0), (Fields{{"grpc-status", "0"}}));
  EXPECT_EQ(size_, 1u);
  EXPECT_EQ(head(), kHead);
  EXPECT_EQ(size_, 3u);
}

TEST_F(AnswerBlocksTest, WhatIsRareDoesNotGoToTheTable) {
  Fields compressed = kHead;
  compressed.emplace_back("grpc-encoding", "gzip");
  EXPECT_EQ(head(MessageEncoding::kGzip), compressed);
  compressed.back().second = "deflate";
  EXPECT_EQ(head(MessageEncoding::kDeflate), compressed);
  EXPECT_EQ(end(13), (Fields{{"grpc-status", "13"}}));
  EXPECT_EQ(end(-1), (Fields{{"grpc-status", "2"}}));
  EXPECT_EQ(head(), kHead);
  EXPECT_EQ(size_, 3u);
}

TEST_F(AnswerBlocksTest, ASmallTableIsNotUsedAndALargeOneFilledAgain) {
  EXPECT_EQ(head(), kHead);
  change_table(100);
  EXPECT_EQ(head(), kHead);
  EXPECT_EQ(end(0), (Fields{{"grpc-status", "0"}}));
  EXPECT_EQ(head(), kHead);
  EXPECT_GT(size_, 40u);
  change_table(4096);
  EXPECT_EQ(head(), kHead);
  EXPECT_GT(size_, 40u);
  EXPECT_EQ(end(0), (Fields{{"grpc-status", "0"}}));
  EXPECT_EQ(head(), kHead);
  EXPECT_EQ(size_, 3u);
}

using AnswersTest = TransportTest;

/// What the client says of its table: HEADER_TABLE_SIZE.
std::string table_setting(uint32_t bytes) { return std::string("\x00\x01", 2) + RawClient::number(bytes); }

TEST_F(AnswersTest, OfEveryKindAreReadableInAnyOrder) {
  open();
  held_.act = [](CallStream& stream, Message) { stream.finish(3, "not this one"); };
  int32_t stream = 1;
  for (int round = 0; round < 3; ++round, stream += 6) {
    EXPECT_EQ(call(stream, "/s/echo", "a").field("grpc-status"), "0");
    EXPECT_EQ(call(stream + 2, "/s/held", "b").field("grpc-message"), "not this one");
    EXPECT_EQ(call(stream + 4, "/s/none", "c").field("grpc-status"), "12");
    EXPECT_EQ(answer(stream).headers[0].size(), 3u);
    EXPECT_EQ(answer(stream).headers[1], (Fields{{"grpc-status", "0"}}));
    EXPECT_EQ(answer(stream + 4).field("grpc-accept-encoding"), "identity, deflate, gzip");
  }
}

TEST_F(AnswersTest, KeepToTheClientsTable) {
  connect();
  client_->preface(table_setting(0));
  turn();
  EXPECT_EQ(call(1, "/s/echo", "none").data, prefixed("none"));
  EXPECT_EQ(call(3, "/s/echo", "none").field("grpc-accept-encoding"), "identity, deflate, gzip");
  client_->send(RawClient::frame(NGHTTP2_SETTINGS, 0, 0, table_setting(4096)));
  turn();
  for (int32_t stream = 5; stream < 11; stream += 2) {
    EXPECT_EQ(call(stream, "/s/echo", "all").field("content-type"), "application/grpc");
    EXPECT_EQ(answer(stream).field("grpc-status"), "0");
  }
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
