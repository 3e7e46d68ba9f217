// What gRPC itself can do: ModelInfer and ModelStreamInfer send the bytes of each message back, unread. One
// thread, one completion queue. Shapes: `raw`, the two methods marked raw; `generic`, AsyncGenericService.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_builder.h>

#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "echo_options.h"
#include "grpc_service.grpc.pb.h"

namespace {

using grpc::ByteBuffer;
using Inference = inference::GRPCInferenceService;
// All asynchronous: for a method left synchronous gRPC would start threads of its own.
using RawService =
    Inference::WithRawMethod_ModelInfer<Inference::WithRawMethod_ModelStreamInfer<Inference::AsyncService>>;

constexpr char kUnaryMethod[] = "/inference.GRPCInferenceService/ModelInfer";
/// Calls that wait on the queue, so that a burst finds them ready.
constexpr int kArmedCalls = 128;

/// A tag of the completion queue.
class Event {
 public:
  virtual ~Event() = default;
  virtual void on_event(bool ok) = 0;
};

/// A unary call; armed anew when it is over.
class UnaryEcho final : public Event {
 public:
  UnaryEcho(RawService& service, grpc::ServerCompletionQueue& queue) : service_(service), queue_(queue) {
    arm();
  }

  void on_event(bool ok) override {
    if (answering_) {
      arm();
    } else if (ok) {
      answering_ = true;
      call_->writer.Finish(call_->message, grpc::Status::OK, this);
    }
  }

 private:
  struct Call {
    grpc::ServerContext context;
    ByteBuffer message;
    grpc::ServerAsyncResponseWriter<ByteBuffer> writer{&context};
  };

  void arm() {
    answering_ = false;
    call_.emplace();
    service_.RequestModelInfer(&call_->context, &call_->message, &call_->writer, &queue_, &queue_, this);
  }

  RawService& service_;
  grpc::ServerCompletionQueue& queue_;
  std::optional<Call> call_;
  bool answering_ = false;
};

/// A stream whose messages are sent back one after the other. A unary call that arrives as one ends with the
/// first.
template <class Context>
class StreamEcho final : public Event {
 public:
  struct Call {
    Context context;
    ByteBuffer message;
    grpc::ServerAsyncReaderWriter<ByteBuffer, ByteBuffer> stream{&context};
  };
  using RequestCall = std::function<void(Call& call, void* tag)>;

  explicit StreamEcho(RequestCall request) : request_(std::move(request)) { arm(); }

  void on_event(bool ok) override {
    switch (state_) {
      case State::kArmed:
        if (ok) read();
        return;
      case State::kReading:
        return ok ? write() : finish(grpc::Status::OK);
      case State::kWriting:
        return ok ? read() : finish(grpc::Status::CANCELLED);
      case State::kFinishing:
        return arm();
    }
  }

 private:
  enum class State { kArmed, kReading, kWriting, kFinishing };

  void arm() {
    state_ = State::kArmed;
    call_.emplace();
    request_(*call_, this);
  }

  void read() {
    state_ = State::kReading;
    call_->stream.Read(&call_->message, this);
  }

  void write() {
    if (is_unary()) {
      state_ = State::kFinishing;
      return call_->stream.WriteAndFinish(call_->message, {}, grpc::Status::OK, this);
    }
    state_ = State::kWriting;
    call_->stream.Write(call_->message, this);
  }

  void finish(const grpc::Status& status) {
    state_ = State::kFinishing;
    call_->stream.Finish(status, this);
  }

  bool is_unary() const {
    if constexpr (std::is_same_v<Context, grpc::GenericServerContext>) {
      return call_->context.method() == kUnaryMethod;
    }
    return false;
  }

  RequestCall request_;
  std::optional<Call> call_;
  State state_ = State::kArmed;
};

using RawStreamEcho = StreamEcho<grpc::ServerContext>;
using GenericEcho = StreamEcho<grpc::GenericServerContext>;

}  // namespace

int main(int argc, char** argv) {
  const bench::EchoOptions options = bench::parse_echo_options(argc, argv, {"raw", "generic"});
  RawService raw;
  grpc::AsyncGenericService generic;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(options.port), grpc::InsecureServerCredentials(),
                           &port);
  builder.SetMaxReceiveMessageSize(-1);
  if (options.shape == "raw") {
    builder.RegisterService(&raw);
  } else {
    builder.RegisterAsyncGenericService(&generic);
  }
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::fprintf(stderr, "grpc_echo: cannot listen on port %d\n", options.port);
    return 1;
  }
  std::deque<std::unique_ptr<Event>> events;
  for (int i = 0; i < kArmedCalls; ++i) {
    if (options.shape == "raw") {
      events.push_back(std::make_unique<UnaryEcho>(raw, *queue));
      events.push_back(std::make_unique<RawStreamEcho>([&](RawStreamEcho::Call& call, void* tag) {
        raw.RequestModelStreamInfer(&call.context, &call.stream, queue.get(), queue.get(), tag);
      }));
    } else {
      events.push_back(std::make_unique<GenericEcho>([&](GenericEcho::Call& call, void* tag) {
        generic.RequestCall(&call.context, &call.stream, queue.get(), queue.get(), tag);
      }));
    }
  }
  std::printf("listening on 127.0.0.1:%d\n", port);
  std::fflush(stdout);
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Event*>(tag)->on_event(ok);
  return 0;
}
