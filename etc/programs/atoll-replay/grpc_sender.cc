#include "grpc_sender.h"

#include <grpcpp/grpcpp.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "grpc_service.grpc.pb.h"
#include "replayed_stream.h"
#include "v2_message.h"

namespace atl::replay {
namespace {

constexpr std::chrono::seconds kConnectTimeout{10};

/// Errors: INVALID_ARGUMENT it cannot be read. Empty for no file.
Result<std::string> content_of(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return invalid_argument("'", path, "' cannot be read: ", std::strerror(errno));
  return text.str();
}

Result<std::shared_ptr<grpc::ChannelCredentials>> credentials_of(const ReplayTls& tls) {
  if (!tls.is_used) return grpc::InsecureChannelCredentials();
  Result<std::string> roots = content_of(tls.ca_file), cert = content_of(tls.cert_file),
                      key = content_of(tls.key_file.empty() ? tls.cert_file : tls.key_file);
  for (Result<std::string>* read : {&roots, &cert, &key}) {
    if (!read->ok()) return std::move(*read).status();
  }
  return grpc::SslCredentials({.pem_root_certs = std::move(roots).value(),
                               .pem_private_key = std::move(key).value(),
                               .pem_cert_chain = std::move(cert).value()});
}

std::shared_ptr<grpc::Channel> channel_to(const std::string& address,
                                          const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt("grpc.enable_http_proxy", 0);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

/// Everything that is under way is in here, so that stop() can wait for it.
class GrpcSender final : public Sender {
 public:
  explicit GrpcSender(ReplayTarget address) : address_(std::move(address)) {}
  virtual ~GrpcSender() { stop(); }

  Status connect() override {
    Result<std::shared_ptr<grpc::ChannelCredentials>> credentials = credentials_of(address_.tls);
    if (!credentials.ok()) return std::move(credentials).status();
    stub_ = inference::GRPCInferenceService::NewStub(channel_to(address_.host_port, credentials.value()));
    grpc::ClientContext context;
    add_headers(address_.headers, &context);
    context.set_deadline(std::chrono::system_clock::now() + kConnectTimeout);
    inference::ServerLiveResponse answer;
    const grpc::Status status = stub_->ServerLive(&context, {}, &answer);
    const bool is_there = status.error_code() != grpc::StatusCode::UNAVAILABLE &&
                          status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED;
    return is_there ? Status() : status_of(status);
  }

  void send(recording::v1::Request request, const SendOptions& options, Done done) override {
    inference::ModelInferRequest message;
    if (Status filled = fill_v2_request(request, options.names_version, &message); !filled.ok())
      return done({std::move(filled), {}});
    if (request.stream() != 0 || request.decoupled()) {
      send_on_stream(request, std::move(message), options, std::move(done));
    } else {
      send_alone(std::move(message), options, std::move(done));
    }
  }

  bool keeps_streams() const noexcept override { return true; }
  void stop() noexcept override {
    std::unique_lock lock(mutex_);
    stops_ = true;
    for (Call* call : calls_) call->context.TryCancel();
    for (auto& [number, stream] : streams_) stream->cancel();
    empty_.wait(lock, [this] { return calls_.empty() && open_streams_ == 0; });
  }

 private:
  /// One ModelInfer call.
  struct Call {
    grpc::ClientContext context;
    inference::ModelInferRequest request;
    inference::ModelInferResponse response;
    Done done;
  };

  void send_alone(inference::ModelInferRequest message, const SendOptions& options, Done done) {
    auto* call = new Call;
    add_headers(address_.headers, &call->context);
    call->context.set_deadline(std::chrono::system_clock::now() +
                               std::chrono::nanoseconds(options.timeout_ns));
    call->request = std::move(message);
    call->done = std::move(done);
    {
      std::scoped_lock lock(mutex_);
      if (stops_) return delete call;
      calls_.insert(call);
    }
    stub_->async()->ModelInfer(&call->context, &call->request, &call->response,
                               [this, call](const grpc::Status& status) { on_answer(call, status); });
  }

  void on_answer(Call* call, const grpc::Status& status) {
    if (!stops()) {
      Outcome outcome{status_of(status), {}};
      if (status.ok()) outcome.responses.push_back(read_v2_response(call->response));
      call->done(std::move(outcome));
    }
    std::scoped_lock lock(mutex_);
    calls_.erase(call);
    delete call;
    empty_.notify_all();
  }

  /// A decoupled request that came alone has a stream of its own, with a number that no other has.
  void send_on_stream(const recording::v1::Request& request, inference::ModelInferRequest message,
                      const SendOptions& options, Done done) {
    const bool is_alone = request.stream() == 0;
    const uint64_t number = is_alone ? (uint64_t{1} << 32) + request.number() : request.stream();
    std::shared_ptr<ReplayedStream> stream;
    {
      std::scoped_lock lock(mutex_);
      if (stops_) return;
      std::shared_ptr<ReplayedStream>& known = streams_[number];
      if (known == nullptr) {
        ++open_streams_;
        known = ReplayedStream::begin(*stub_, address_.headers, [this, number] { on_stream_end(number); });
      }
      stream = known;
    }
    SendOptions own = options;
    own.ends_stream = options.ends_stream || is_alone;
    stream->send(std::move(message), request.decoupled(), own,
                 [this, done = std::move(done)](Outcome outcome) {
                   if (!stops()) done(std::move(outcome));
                 });
  }

  void on_stream_end(uint64_t number) {
    std::scoped_lock lock(mutex_);
    streams_.erase(number);
    --open_streams_;
    empty_.notify_all();
  }

  bool stops() {
    std::scoped_lock lock(mutex_);
    return stops_;
  }

  const ReplayTarget address_;
  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;  ///< of connect()
  std::mutex mutex_;                                             ///< guards what follows
  std::condition_variable empty_;
  std::set<Call*> calls_;
  std::unordered_map<uint64_t, std::shared_ptr<ReplayedStream>> streams_;
  uint64_t open_streams_ = 0;
  bool stops_ = false;
};

}  // namespace

std::unique_ptr<Sender> make_grpc_sender(ReplayTarget address) {
  return std::make_unique<GrpcSender>(std::move(address));
}

}  // namespace atl::replay
