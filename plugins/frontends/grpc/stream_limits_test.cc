// ModelStreamInfer: limits, ends before the time, bad bytes, many at once.
#include <random>

#include "stream_fixture.h"

namespace atl::frontends::grpc_frontend {
namespace {

using grpc::StatusCode;

constexpr size_t kMiB = 1 << 20;

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

class StreamEndTest : public StreamLimitsTest {
 protected:
  /// Two requests wait in a model and one decoupled answer was given.
  void with_requests(grpc::ClientContext* context, const std::function<void(ClientStream&)>& end) {
    HeldModel held(catalog_.add_identity("m"));
    HeldModel decoupled(add_decoupled("d"));
    start();
    auto stream = open(context);
    stream->Write(numbered("m", "0"));
    stream->Write(numbered("m", "1"));
    stream->Write(numbered("d", "2"));
    send_bytes(decoupled.at(0), 10, 'x', 0);
    EXPECT_EQ(id_of(read(*stream)), "2");
    held.at(1);
    held.answer(1);  // its answer waits for the first one's
    end(*stream);
    EXPECT_TRUE(eventually([&] { return held.at(0).cancelled() && decoupled.at(0).cancelled(); }));
    send_bytes(decoupled.at(0), 10, 'y', 0);
    EXPECT_EQ(host_.gate().count(), 2);
    held.answer(0);
    end_request(decoupled.at(0));
    EXPECT_TRUE(all_gone());
  }
};

TEST_F(StreamEndTest, ACancelReachesEveryRequest) {
  grpc::ClientContext context;
  with_requests(&context, [&](ClientStream& stream) {
    context.TryCancel();
    EXPECT_EQ(stream.Finish().error_code(), StatusCode::CANCELLED);
  });
}

TEST_F(StreamEndTest, TheDeadlineReachesEveryRequest) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(2000));
  with_requests(&context, [&](ClientStream& stream) {
    EXPECT_EQ(stream.Finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
  });
}

TEST_F(StreamEndTest, TheDeadlineIsTheRequests) {
  HeldModel held(catalog_.add_identity("m"));
  start();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(100));
  auto stream = open(&context);
  stream->Write(request("m"));
  const int64_t left = held.at(0).times.deadline_ns - host_.clock().now_ns();
  EXPECT_LE(left, 102 * kNsPerSecond) << "gRPC sends it rounded up";
  EXPECT_GT(left, 50 * kNsPerSecond);
  held.answer(0);
  read(*stream);
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(StreamEndTest, ACancelBeforeAnythingWasSentLeavesNothing) {
  start();
  for (int i = 0; i < 50; ++i) {
    grpc::ClientContext context;
    auto stream = open(&context);
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  }
  stop();
}

TEST_F(StreamEndTest, WhileTheServerDrainsNewRequestsAreRefusedAndRunningOnesFinish) {
  HeldModel held(catalog_.add_identity("m"));
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("m", "0"));
  held.at(0);
  catalog_.set_exiting(true);
  host_.gate().close();
  frontend_->drain(host_.clock().now_ns() + 600 * kNsPerSecond);
  const char* text = "GRPC server is shutting down and has stopped accepting new requests.";
  grpc::ClientContext late_context;
  auto late = open(&late_context);
  expect_status(ended(*late), StatusCode::UNAVAILABLE, text);
  stream->Write(numbered("m", "1"));
  held.answer(0);
  EXPECT_EQ(id_of(read(*stream)), "0");
  Answer refused = read(*stream);
  EXPECT_EQ(refused.error_message(), text);
  EXPECT_EQ(id_of(refused), "1");
  EXPECT_TRUE(all_gone()) << "a stream without requests holds nobody up";
  stop();
  expect_status(ended(*stream), StatusCode::UNAVAILABLE, text);
}

TEST_F(StreamEndTest, AtTheDrainDeadlineRequestsAreCancelled) {
  HeldModel held(catalog_.add_identity("m"));
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("m", "0"));
  held.at(0);
  host_.gate().close();
  frontend_->drain(host_.clock().now_ns() + 20 * kNsPerMs);
  EXPECT_TRUE(eventually([&] { return held.at(0).cancelled(); }));
  EXPECT_FALSE(stream->Finish().ok());
  held.answer(0);
  stop();
}

class StreamBytesTest : public StreamTest {
 protected:
  static constexpr const char* kMethod = "/inference.GRPCInferenceService/ModelStreamInfer";

  /// Sends messages of any bytes and then the end. \returns the answers, and the stream's end
  grpc::Status exchange(const std::vector<std::string>& messages, std::vector<Answer>* answers) {
    grpc::GenericStub stub(channel());
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    auto wait = [&] {
      void* tag = nullptr;
      bool ok = false;
      EXPECT_TRUE(queue.Next(&tag, &ok));
      return ok;
    };
    auto stream = stub.PrepareCall(&context, kMethod, &queue);
    stream->StartCall(nullptr);
    EXPECT_TRUE(wait());
    for (const std::string& bytes : messages) {
      grpc::Slice slice(bytes);
      stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
      wait();
    }
    stream->WritesDone(nullptr);
    wait();
    while (true) {
      grpc::ByteBuffer received;
      stream->Read(&received, nullptr);
      if (!wait()) break;
      EXPECT_TRUE(grpc::SerializationTraits<Answer>::Deserialize(&received, &answers->emplace_back()).ok());
    }
    grpc::Status status;
    stream->Finish(&status, nullptr);
    wait();
    queue.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
    }
    return status;
  }
};

TEST_F(StreamBytesTest, BytesThatAreNoMessageAreRefusedAndTheStreamGoesOn) {
  catalog_.add_identity("m");
  start();
  std::vector<Answer> answers;
  const std::string good = numbered("m", "good").SerializeAsString();
  const std::string nested = [] {
    std::string bytes;
    for (int i = 0; i < 100; ++i) {
      bytes.insert(0, 1, static_cast<char>(bytes.size() % 128));
      if (bytes.size() > 120) break;
      bytes.insert(0, 1, '\x7A');
    }
    return bytes;
  }();
  const std::string bad_id = "\x1A\x02\xFF\xFE";
  grpc::Status status = exchange({"\xFF\xFF\xFF", good, "\x2A\x7F", bad_id, nested, good}, &answers);
  EXPECT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(answers.size(), 6u);
  for (size_t i : {0u, 2u, 3u, 4u}) EXPECT_NE(answers[i].error_message(), "") << i;
  for (size_t i : {1u, 5u}) EXPECT_EQ(answers[i].error_message(), "") << i;
}

TEST_F(StreamBytesTest, AMessageOverTheLimitEndsTheStream) {
  catalog_.add_identity("m");
  host_.options().set_bytes("max_message_bytes", kMiB);
  start();
  auto sized = [](size_t bytes) {
    inference::ModelInferRequest message = numbered("m", "x", 0);
    message.mutable_inputs(0)->set_shape(0, 100);
    message.set_raw_input_contents(0, std::string(bytes, 'x'));
    message.set_raw_input_contents(0, std::string(2 * bytes - message.ByteSizeLong(), 'x'));
    EXPECT_EQ(message.ByteSizeLong(), bytes);
    return message.SerializeAsString();
  };
  for (size_t size : {kMiB - 1, kMiB, kMiB + 1}) {
    std::vector<Answer> answers;
    grpc::Status status = exchange({sized(size)}, &answers);
    EXPECT_EQ(status.error_code(), size > kMiB ? StatusCode::RESOURCE_EXHAUSTED : StatusCode::OK) << size;
    EXPECT_EQ(answers.size(), size > kMiB ? 0u : 1u);
  }
}

TEST_F(StreamTest, CompressedRequestsAndResponsesWork) {
  catalog_.add_identity("m");
  host_.options().set_string("response_compression", "high");
  start();
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  auto stream = open(&context);
  for (size_t elements : {0u, 4u, 200'000u}) {
    inference::ModelInferRequest message = numbered("m", "x", elements);
    stream->Write(message);
    EXPECT_EQ(read(*stream).infer_response().raw_output_contents(0), message.raw_input_contents(0));
  }
  EXPECT_TRUE(finish(*stream).ok());
}

/// Answers requests on several threads in a random order: decoupled ones with as many responses as their id
/// says, sometimes with a failure.
class RandomModel {
 public:
  explicit RandomModel(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) threads_.emplace_back([this] { work(); });
  }
  ~RandomModel() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void serve(test::FakeServedModel& model) {
    model.respond = [this, decoupled = model.info().decoupled](Request& request) {
      std::lock_guard lock(mutex_);
      waiting_.emplace_back(&request, decoupled);
      wake_.notify_one();
    };
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const size_t index = random_() % waiting_.size();
      auto [request, decoupled] = waiting_[index];
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
      lock.unlock();
      if (!decoupled) {
        test::answer_identity(*request);
        (void)request->release().ok();
      } else {
        const int count = std::stoi(std::string(request->id)) % 5;
        for (int i = 0; i < count; ++i) send_bytes(*request, 1, static_cast<char>(i), 0);
        end_request(*request);
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::pair<Request*, bool>> waiting_;
  std::mt19937 random_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

TEST_F(StreamTest, ManyStreamsAtOnceEachKeepTheirOrder) {
  test::FakeServedModel& single = catalog_.add_identity("m");
  test::FakeServedModel& decoupled = add_decoupled("d");
  RandomModel answers(7);
  answers.serve(single);
  answers.serve(decoupled);
  host_.options().set_int("max_requests_per_stream", 16);
  start();
  std::vector<std::thread> clients;
  for (int client = 0; client < 6; ++client) {
    clients.emplace_back([&] {
      grpc::ClientContext context;
      auto stream = open(&context);
      constexpr int kCount = 300;
      std::thread writer([&] {
        for (int i = 0; i < kCount; ++i) stream->Write(numbered(i % 3 == 0 ? "d" : "m", std::to_string(i)));
        stream->WritesDone();
      });
      int next_single = 1;
      std::map<int, int> next_decoupled;
      Answer answer;
      while (stream->Read(&answer)) {
        EXPECT_EQ(answer.error_message(), "");
        const int id = std::stoi(id_of(answer));
        if (id % 3 == 0) {
          EXPECT_EQ(answer.infer_response().raw_output_contents(0)[0], next_decoupled[id]++);
        } else {
          EXPECT_EQ(id, next_single);
          next_single += next_single % 3 == 1 ? 1 : 2;
        }
      }
      writer.join();
      EXPECT_TRUE(stream->Finish().ok());
      EXPECT_EQ(next_single, kCount + 1);
      for (int id = 0; id < kCount; id += 3) EXPECT_EQ(next_decoupled[id], id % 5);
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(eventually([&] { return single.references() == 0 && decoupled.references() == 0; }));
  EXPECT_TRUE(all_gone());
}

TEST_F(StreamTest, StreamsThatAreCancelledAtAnyMomentLeaveNothing) {
  test::FakeServedModel& single = catalog_.add_identity("m");
  test::FakeServedModel& decoupled = add_decoupled("d");
  RandomModel answers(11);
  answers.serve(single);
  answers.serve(decoupled);
  start();
  std::vector<std::thread> clients;
  for (uint32_t client = 0; client < 4; ++client) {
    clients.emplace_back([&, client] {
      std::mt19937 random(client);
      for (int round = 0; round < 40; ++round) {
        grpc::ClientContext context;
        if (round % 5 == 4) context.AddMetadata("triton_grpc_error", "true");
        auto stream = open(&context);
        const uint32_t cancel_at = random() % 20;
        for (uint32_t i = 0; i < 20; ++i) {
          if (i == cancel_at) context.TryCancel();
          if (!stream->Write(numbered(i % 2 == 0 ? "d" : "m", std::to_string(i)))) break;
        }
        EXPECT_FALSE(stream->Finish().ok());
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(all_gone());
  EXPECT_EQ(single.references() + decoupled.references(), 0);
  stop();
}

}  // namespace
}  // namespace atl::frontends::grpc_frontend
