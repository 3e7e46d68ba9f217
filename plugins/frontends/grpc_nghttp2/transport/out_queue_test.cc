#include "frontends/grpc_nghttp2/transport/out_queue.h"

#include <gtest/gtest.h>

#include <string>

#include "frontends/grpc_nghttp2/transport/testing/transport_fixture.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// Writes so many bytes a call until all is gone.
std::string drain(OutQueue& queue, size_t at_a_time) {
  std::string out;
  while (!queue.empty()) {
    iovec pieces[3];
    const size_t count = queue.gather(pieces);
    size_t left = at_a_time;
    for (size_t i = 0; i < count && left != 0; ++i) {
      const size_t taken = std::min(left, pieces[i].iov_len);
      out.append(static_cast<const char*>(pieces[i].iov_base), taken);
      left -= taken;
    }
    queue.written(at_a_time - left);
  }
  return out;
}

TEST(OutQueueTest, KeepsTheOrderHoweverItIsWritten) {
  const std::string text(10'000, 't');
  for (size_t at_a_time : {1u, 3u, 1000u, 100'000u}) {
    int sent = 0;
    BufferPool buffers;
    OutQueue queue(buffers);
    TextMessage* message = TextMessage::make(text, &sent, 2);
    message->hold();
    MessageCursor cursor;
    cursor.start(*message);
    ASSERT_TRUE(queue.append(bytes_of("head ")));
    ASSERT_TRUE(queue.append(bytes_of("and ")));
    while (cursor.left() != 0) queue.append(*message, cursor.take(4000));
    ASSERT_TRUE(queue.append(bytes_of(" tail")));
    message->let_go();
    EXPECT_EQ(sent, 0);
    EXPECT_EQ(queue.bytes(), 9 + 5 + text.size() + 5);
    const std::string out = drain(queue, at_a_time);
    EXPECT_EQ(out.substr(0, 9), "head and ");
    EXPECT_EQ(out.substr(14), text + " tail");
    EXPECT_EQ(sent, 1);
  }
}

TEST(OutQueueTest, ItsEndLetsMessagesGo) {
  int sent = 0;
  {
    BufferPool buffers;
    OutQueue queue(buffers);
    TextMessage* message = TextMessage::make("text", &sent);
    queue.append(*message, message->pieces().empty() ? std::span<const uint8_t>() : bytes_of("text"));
  }
  EXPECT_EQ(sent, 1);
}

TEST(OutQueueTest, NeverEmptyItStaysSmall) {
  BufferPool buffers;
  OutQueue queue(buffers);
  const std::string text(1000, 'x');
  ASSERT_TRUE(queue.append(bytes_of(text)));
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(queue.append(bytes_of(text)));
    queue.written(1000);
  }
  EXPECT_EQ(queue.bytes(), 1000u);
  EXPECT_EQ(drain(queue, 1000), text);
}

TEST(OutQueueTest, HasNoMemoryWhenItIsEmpty) {
  BufferPool buffers;
  OutQueue queue(buffers);
  ASSERT_TRUE(queue.append(bytes_of(std::string(50'000, 'x'))));
  EXPECT_EQ(buffers.take().capacity(), 0u);
  drain(queue, 30'000);
  BodyBuffer memory = buffers.take();
  EXPECT_GE(memory.capacity(), 50'000u);
  // Another queue takes it.
  const uint8_t* const data = memory.data();
  buffers.give(std::move(memory));
  OutQueue other(buffers);
  ASSERT_TRUE(other.append(bytes_of("x")));
  iovec piece;
  ASSERT_EQ(other.gather({&piece, 1}), 1u);
  EXPECT_EQ(piece.iov_base, data);
}

TEST(MessageCursorTest, JoinsWhatLiesTogether) {
  int sent = 0;
  TextMessage* message = TextMessage::make(std::string(100, 'a'), &sent);
  EXPECT_EQ(message->total_bytes(), 105u);
  EXPECT_EQ(message->pieces().size(), 2u);
  MessageCursor cursor;
  cursor.start(*message);
  EXPECT_EQ(cursor.take(1000).size(), 5u);
  EXPECT_EQ(cursor.take(60).size(), 60u);
  EXPECT_EQ(cursor.take(60).size(), 40u);
  EXPECT_TRUE(cursor.take(60).empty());
  message->hold();
  message->let_go();
  EXPECT_EQ(sent, 1);
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
