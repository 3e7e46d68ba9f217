// ModelStreamInfer: limits of what a stream has in hand.
#include "frontends/common/grpc/testing/stream_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;

class StreamLimitsTest : public StreamTest {
 protected:
  /// Everything the server had to do for what came before is done: it has one thread for all calls, and does
  /// what comes in order.
  void settle() {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(infer_ok("no such model").error_code(), StatusCode::NOT_FOUND);
  }
};

TEST_F(StreamLimitsTest, NoMoreRequestsAreReadThanMayBeInFlight) {
  for (size_t limit : {1u, 2u, 5u}) {
    HeldModel held(catalog_.add_identity("m"));
    host_.options().set_int("threads", 1);
    host_.options().set_int("max_requests_per_stream", static_cast<int64_t>(limit));
    start();
    grpc::ClientContext context;
    auto stream = open(&context);
    for (int i = 0; i < 12; ++i) stream->Write(numbered("m", std::to_string(i)));
    stream->WritesDone();
    held.at(limit - 1);
    settle();
    EXPECT_EQ(held.count(), limit);
    // One that leaves lets one in; answered, but not first: its answer waits and it stays.
    if (limit > 1) held.answer(1);
    settle();
    EXPECT_EQ(held.count(), limit);
    held.answer(0);
    held.at(limit > 1 ? limit + 1 : limit);
    settle();
    EXPECT_EQ(held.count(), limit > 1 ? limit + 2 : limit + 1);
    for (size_t i = limit > 1 ? 2 : 1; i < 12; ++i) held.answer(i);
    for (int i = 0; i < 12; ++i) EXPECT_EQ(id_of(read(*stream)), std::to_string(i));
    EXPECT_TRUE(ended(*stream).ok());
    stub_.reset();
    stop();
  }
}

TEST_F(StreamLimitsTest, NoMoreRequestsAreReadThanBytesMayBeInHand) {
  HeldModel held(catalog_.add_identity("m"));
  host_.options().set_int("threads", 1);
  host_.options().set_bytes("max_stream_backlog_bytes", 2 * kMiB);
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  std::thread writer([&] {
    for (int i = 0; i < 6; ++i) stream->Write(numbered("m", std::to_string(i), kMiB / 4));
    stream->WritesDone();
  });
  held.at(1);  // together more than 2 MiB
  settle();
  EXPECT_EQ(held.count(), 2u);
  held.answer(0);
  EXPECT_EQ(id_of(read(*stream)), "0");
  held.at(2);
  settle();
  EXPECT_EQ(held.count(), 3u);
  for (size_t i = 1; i < 6; ++i) {
    held.answer(i);
    EXPECT_EQ(id_of(read(*stream)), std::to_string(i)) << "an answer that is not read is in hand too";
  }
  writer.join();
  EXPECT_TRUE(ended(*stream).ok());
}

TEST_F(StreamLimitsTest, AClientThatOnlyWritesIsNotReadForEver) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  std::atomic<uint64_t> answered{0};
  model.respond = [&](Request& request) {
    ++answered;
    test::answer_identity(request);
    (void)request.release().ok();
  };
  host_.options().set_bytes("max_stream_backlog_bytes", kMiB);
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  std::atomic<int> written{0};
  std::thread writer([&] {
    for (int i = 0; i < 400 && stream->Write(numbered("m", std::to_string(i), 25'000)); ++i) ++written;
    stream->WritesDone();
  });
  // 400 times 100 kB: flow control stops the client long before it has sent them.
  EXPECT_TRUE(eventually([&] { return answered > 10; }));
  uint64_t before = 0;
  EXPECT_TRUE(eventually([&] {
    settle();
    return std::exchange(before, answered) == answered;
  }));
  EXPECT_LT(answered, 200u);
  for (int i = 0; i < 400; ++i) ASSERT_EQ(id_of(read(*stream)), std::to_string(i));
  writer.join();
  EXPECT_EQ(written, 400);
  EXPECT_TRUE(ended(*stream).ok());
}

TEST_F(StreamLimitsTest, RefusalsThatAreNotReadStopTheReadingToo) {
  host_.options().set_bytes("max_stream_backlog_bytes", 100 * 1024);
  host_.options().set_int("threads", 1);
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  const std::string name(200, 'x');
  std::thread writer([&] {
    for (int i = 0; i < 5000; ++i) stream->Write(numbered(name, std::to_string(i), 1000));
    stream->WritesDone();
  });
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(id_of(read(*stream)), std::to_string(i));
  writer.join();
  EXPECT_TRUE(ended(*stream).ok());
}

/// A decoupled model whose responses are so large that the first fills what the client lets in, so none of
/// them is written before it reads.
class SlowReaderTest : public StreamLimitsTest {
 protected:
  SlowReaderTest() { keep_client_window(); }

  static constexpr size_t kResponse = 16 * kMiB;
  void answer(Request& request, int count, bool with_end = true) {
    for (int i = 0; i < count; ++i) send_bytes(request, kResponse, static_cast<char>('a' + i), 0);
    if (with_end) end_request(request);
  }
  /// So many data responses arrive, in order.
  static void expect_data(ClientStream& stream, int count) {
    for (int i = 0; i < count; ++i) {
      Answer answer = read(stream);
      ASSERT_EQ(answer.error_message(), "");
      ASSERT_EQ(answer.infer_response().raw_output_contents(0)[0], static_cast<char>('a' + i));
      EXPECT_EQ(final_flag(answer), "false");
    }
  }
  static std::string too_slow(const std::string& id, uint64_t responses, uint64_t bytes) {
    return cat("[request id: ", id,
               "] the client does not read the responses of model 'd' as fast as they "
               "come: more than ",
               responses, " of them or ", bytes,
               " bytes would wait to be written; the request was cancelled");
  }
};

TEST_F(SlowReaderTest, AsManyResponsesWaitAsThePoolHas) {
  HeldModel decoupled(add_decoupled("d"));
  host_.options().set_int("max_response_pool_size", 3);
  host_.options().set_bytes("max_stream_backlog_bytes", 1024 * kMiB);
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  size_t index = 0;
  for (int count : {2, 3}) {
    stream->Write(numbered("d", "fits"));
    answer(decoupled.at(index), count);
    EXPECT_FALSE(decoupled.at(index++).cancelled());
    expect_data(*stream, count);
  }
  stream->Write(numbered("d", "not"));
  Request& request = decoupled.at(index);
  answer(request, 4, false);
  EXPECT_TRUE(request.cancelled());
  answer(request, 100, false);  // dropped, whatever it does
  expect_data(*stream, 3);
  Answer failure = read(*stream);
  EXPECT_EQ(failure.error_message(), too_slow("not", 3, 1024 * kMiB));
  EXPECT_EQ(final_flag(failure), "true");
  EXPECT_EQ(id_of(failure), "not");
  end_request(request);
  // The stream goes on.
  stream->Write(numbered("d", "after"));
  answer(decoupled.at(index + 1), 1);
  expect_data(*stream, 1);
  EXPECT_TRUE(finish(*stream).ok());
  EXPECT_TRUE(all_gone());
}

TEST_F(SlowReaderTest, AsManyBytesWaitAsTheStreamMayHave) {
  HeldModel decoupled(add_decoupled("d"));
  host_.options().set_bytes("max_stream_backlog_bytes", 2 * kResponse + kResponse / 2);
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("d", "x"));
  Request& request = decoupled.at(0);
  answer(request, 3, false);
  EXPECT_FALSE(request.cancelled());
  send_bytes(request, 1, 'z', kFinal);
  (void)request.release().ok();
  expect_data(*stream, 3);
  EXPECT_EQ(read(*stream).error_message(), too_slow("x", 2147483647, 2 * kResponse + kResponse / 2));
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(SlowReaderTest, TheFailureEndsTheStreamIfTheClientWantsThat) {
  HeldModel decoupled(add_decoupled("d"));
  host_.options().set_int("max_response_pool_size", 1);
  start();
  grpc::ClientContext context;
  context.AddMetadata("triton_grpc_error", "true");
  auto stream = open(&context);
  stream->Write(numbered("d", "x"));
  answer(decoupled.at(0), 2);
  expect_data(*stream, 1);
  expect_status(ended(*stream), StatusCode::RESOURCE_EXHAUSTED, too_slow("x", 1, 64 * kMiB));
}

TEST_F(SlowReaderTest, ManyEmptyResponsesCountToo) {
  HeldModel decoupled(add_decoupled("d"));
  host_.options().set_bytes("max_stream_backlog_bytes", kMiB);
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("d", "x"));
  Request& request = decoupled.at(0);
  int sent = 0;
  for (; sent < 1'000'000 && !request.cancelled(); ++sent) request.sink->new_response()->send(0);
  EXPECT_TRUE(request.cancelled());
  end_request(request);
  int received = 0;
  Answer answer = read(*stream);
  for (; answer.error_message().empty(); answer = read(*stream)) ++received;
  EXPECT_EQ(received, sent - 1);
  EXPECT_TRUE(finish(*stream).ok());
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
