#include "frontends/grpc_nghttp2/transport/frames/message_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_request_memory.h"
#include "frontends/grpc_nghttp2/transport/testing/raw_client.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

class MessageReaderTest : public ::testing::Test {
 protected:
  /// Reads pieces as they come; each is in a chunk of its own.
  Status read(std::string_view piece) {
    ChunkRef chunk(new ReceiveChunk);
    std::copy(piece.begin(), piece.end(), chunk->data());
    std::span<const uint8_t> bytes(chunk->data(), piece.size());
    while (!bytes.empty()) {
      Message message;
      Result<bool> whole = reader_.read(&bytes, in_place_ ? chunk : nullptr, limits_, buffers_, &message);
      if (!whole.ok()) return std::move(whole).status();
      if (!whole.value()) return {};
      texts_.emplace_back(reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size());
      messages_.push_back(std::move(message));
    }
    return {};
  }

  MessageReader reader_;
  BufferPool buffers_;
  MessageLimits limits_{.max_bytes = 200'000};
  bool in_place_ = true;
  std::vector<std::string> texts_;
  std::vector<Message> messages_;
};

TEST_F(MessageReaderTest, CutAnywhereItIsTheSame) {
  const std::string text = prefixed("hello, world");
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    texts_.clear();
    ASSERT_TRUE(read(text.substr(0, cut)).ok());
    EXPECT_EQ(reader_.is_inside(), cut != 0 && cut != text.size());
    ASSERT_TRUE(read(text.substr(cut)).ok());
    EXPECT_EQ(texts_, std::vector<std::string>{"hello, world"}) << cut;
    EXPECT_FALSE(reader_.is_inside());
  }
}

TEST_F(MessageReaderTest, ByteByByteAndSeveralAtOnce) {
  const std::string text = prefixed("one") + prefixed("") + prefixed("three");
  for (char byte : text) ASSERT_TRUE(read({&byte, 1}).ok());
  ASSERT_TRUE(read(text).ok());
  EXPECT_EQ(texts_, (std::vector<std::string>{"one", "", "three", "one", "", "three"}));
}

TEST_F(MessageReaderTest, AWholeMessageStaysWhereItIs) {
  ASSERT_TRUE(read(prefixed("here")).ok());
  EXPECT_NE(messages_[0].chunk, nullptr);
  EXPECT_EQ(messages_[0].bytes.data(), messages_[0].chunk->data() + 5);
  in_place_ = false;
  ASSERT_TRUE(read(prefixed("copied")).ok());
  EXPECT_EQ(messages_[1].chunk, nullptr);
  EXPECT_EQ(messages_[1].bytes.data(), messages_[1].buffer.data());
}

TEST_F(MessageReaderTest, LargeOnesGrowAndAreAligned) {
  const std::string text(180'000, 'x');
  const std::string all = prefixed(text);
  for (size_t at = 0; at < all.size(); at += 50'000) ASSERT_TRUE(read(all.substr(at, 50'000)).ok());
  EXPECT_EQ(texts_, std::vector<std::string>{text});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(messages_[0].bytes.data()) % BodyBuffer::kAlignment, 0u);
}

TEST_F(MessageReaderTest, TheLimitIsKnownFromThePrefix) {
  Status status = read(prefixed(std::string(200'001, 'x')).substr(0, 5));
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(), "Received message larger than max (200001 vs. 200000)");
  reader_.reset(buffers_);
  EXPECT_EQ(read(std::string("\0\xFF\xFF\xFF\xFF", 5)).message(),
            "Received message larger than max (4294967295 vs. 200000)");
  reader_.reset(buffers_);
  EXPECT_TRUE(read(prefixed("fine")).ok());
}

TEST_F(MessageReaderTest, FlagsThatCanNotBeAreRefused) {
  EXPECT_EQ(read(prefixed("x", 2)).message(), "Bad GRPC frame type 0x02");
  reader_.reset(buffers_);
  EXPECT_EQ(read(prefixed("x", 1)).message(), "Compression bit set but no encoding configured");
  reader_.reset(buffers_);
  limits_.has_encoding = true;
  ASSERT_TRUE(read(prefixed("x", 1)).ok());
  EXPECT_TRUE(messages_[0].compressed);
  ASSERT_TRUE(read(prefixed("x", 0)).ok());
  EXPECT_FALSE(messages_[1].compressed);
}

TEST_F(MessageReaderTest, WhatIsRefusedMayBeReadToItsEnd) {
  test::FakeHost host("grpc");
  test::FakeRequestMemory memory;
  host.registry().publish<RequestMemory>("host", memory);
  RequestBudgets budgets(host);
  ASSERT_TRUE(budgets.open().ok());
  limits_.budgets = &budgets;
  memory.set_limit(100'000);
  const std::string all = prefixed(std::string(150'000, 'x')) + prefixed("next");
  auto read_all = [&] {
    for (size_t at = 0; at < all.size(); at += 60'000) ATOLL_RETURN_IF_ERROR(read(all.substr(at, 60'000)));
    return Status();
  };
  EXPECT_EQ(read_all().code(), Code::kResourceExhausted);
  reader_.reset(buffers_);
  limits_.reads_refused = true;
  ASSERT_TRUE(read_all().ok());
  ASSERT_EQ(messages_.size(), 2u);
  EXPECT_EQ(messages_[0].refused.code(), Code::kResourceExhausted);
  EXPECT_LT(messages_[0].bytes.size(), 100'000u);
  EXPECT_TRUE(messages_[1].refused.ok());
  EXPECT_EQ(texts_[1], "next");
  messages_.clear();
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST(ReceiveBufferTest, StartsAgainWhenNothingIsHeld) {
  ReceiveBuffer buffer;
  uint8_t* const first = buffer.room().data();
  buffer.filled(1000);
  EXPECT_EQ(buffer.room().data(), first);
  ChunkRef held = buffer.filled(1000);
  EXPECT_EQ(buffer.room().data(), first + 1000);
  buffer.filled(ReceiveChunk::kBytes - 1000 - 100);
  uint8_t* const next = buffer.room().data();
  EXPECT_TRUE(next < first || next >= first + ReceiveChunk::kBytes);
  held.reset();
  EXPECT_EQ(buffer.room().size(), ReceiveChunk::kBytes);
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
