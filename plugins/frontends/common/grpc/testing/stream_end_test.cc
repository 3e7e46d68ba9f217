// ModelStreamInfer: ends before the time, bad bytes, many at once.
#include <random>

#include "frontends/common/grpc/testing/stream_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;

class StreamEndTest : public StreamTest {
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
    EXPECT_EQ(calls(), 2);
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

TEST_F(StreamEndTest, WhileAnotherTakesOverOpenStreamsGoOn) {
  HeldModel held(catalog_.add_identity("m"));
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("m", "0"));
  held.at(0);
  host_.gate().close();
  frontend_->drain(host_.clock().now_ns() + 600 * kNsPerSecond);
  stream->Write(numbered("m", "1"));
  held.at(1);
  held.answer(0);
  held.answer(1);
  EXPECT_EQ(id_of(read(*stream)), "0");
  EXPECT_EQ(id_of(read(*stream)), "1");
  EXPECT_EQ(host_.gate().count(), 1) << "it waits for the stream's end";
  stream->WritesDone();
  EXPECT_TRUE(ended(*stream).ok());
  EXPECT_TRUE(eventually([&] { return host_.gate().count() == 0; }));
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
}  // namespace atl::frontends::grpc_cases
