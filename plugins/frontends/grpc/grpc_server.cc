#include "frontends/grpc/grpc_server.h"

#include <absl/synchronization/mutex.h>
#include <grpcpp/server_builder.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "frontends/common/codec/wire_messages.h"
#include "frontends/grpc/calls/event.h"
#include "frontends/grpc/calls/infer_call.h"
#include "frontends/grpc/calls/infer_stream.h"
#include "frontends/grpc/credentials.h"

namespace atl::frontends::grpc_frontend {
namespace {

/// ModelInfer calls that wait on each queue, so that a burst finds them ready.
constexpr int kArmedCalls = 32;
/// Streams that wait on each queue, and as many calls of methods that are not the frontend's own.
constexpr int kArmedStreams = 4;
/// All names and values that a client may send with a call.
constexpr int kMaxMetadataBytes = 64 * 1024;
/// Bytes of a message that a client may send ahead of the server's reading, over gRPC's own 64 KiB: a large
/// tensor then comes without a stop and a wake-up of both sides for each window. Memory is no more at stake
/// than before, as a request is read to its end before it is looked at.
constexpr int kLookaheadBytes = 1024 * 1024;
/// How long stop() lets calls end that hold no pass (health, and writes under way) before it cancels them.
constexpr auto kStopGrace = std::chrono::seconds(1);
/// How long a server that is replaced waits for clients that were told to go and neither call nor leave.
constexpr auto kLeaveGrace = std::chrono::seconds(5);
constexpr auto kLookInterval = std::chrono::milliseconds(10);

void set_channel_arguments(grpc::ServerBuilder& builder, const GrpcSettings& settings,
                           const GoAway& go_away) {
  builder.SetMaxReceiveMessageSize(settings.max_message_bytes);
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, settings.max_streams_per_connection);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, settings.keepalive_time_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, settings.keepalive_timeout_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS,
                             settings.keepalive_permit_without_calls ? 1 : 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, settings.http2_max_pings_without_data);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             settings.http2_min_recv_ping_interval_without_data_ms);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, settings.http2_max_ping_strikes);
  if (go_away.age_argument_ms() > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, go_away.age_argument_ms());
  }
  if (settings.max_connection_age_grace_ms > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, settings.max_connection_age_grace_ms);
  }
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);  // see decompress.h
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
  // Counts of calls that nothing here reads, with two looks at the clock a call.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
}

}  // namespace

GrpcServer::GrpcServer(GrpcCallContext& frontend)
    : frontend_(frontend),
      methods_(frontend, inference_, health_),
      contributed_{.frontend = frontend},
      reflection_(frontend),
      receive_quota_(frontend.host),
      go_away_(frontend.settings.max_connection_age_ms) {}

GrpcServer::~GrpcServer() { stop(); }

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(GrpcCallContext& frontend, int* bound_port) noexcept {
  try {
    // For the whole process: the search for cycles in the order of locks, on in Debian's build of the
    // library, costs gRPC some 3,000 instructions a call.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    std::unique_ptr<GrpcServer> server(new GrpcServer(frontend));
    ATOLL_RETURN_IF_ERROR(server->build(bound_port));
    return server;
  } catch (const std::system_error& error) {
    return make_status(Code::kResourceExhausted, "cannot start the gRPC server: ", error.what());
  } catch (const std::exception& error) {
    return internal_error("cannot start the gRPC server: ", error.what());
  }
}

Status GrpcServer::build(int* bound_port) {
  const GrpcSettings& settings = frontend_.settings;
  Log& log = frontend_.host.log();
  acceptor_ = std::make_unique<ConnectionAcceptor>(
      log, ConnectionLimit::make(settings.max_connections, kRequestShare, log));
  Result<int> port = acceptor_->listen(settings.address, {.host = &frontend_.host,
                                                          .share_port = settings.reuse_port,
                                                          .opens_later = settings.open_after_startup});
  if (!port.ok()) return std::move(port).status();
  *bound_port = port.value();
  Result<std::shared_ptr<grpc::ServerCredentials>> credentials = make_credentials(settings.tls);
  if (!credentials.ok()) return std::move(credentials).status();
  if (settings.tls.use_ssl && !are_usable(credentials.value())) {
    return unusable_tls_files("gRPC", settings.address, settings.tls, {});
  }
  grpc::ServerBuilder builder;
  set_channel_arguments(builder, settings, go_away_);
  ATOLL_RETURN_IF_ERROR(receive_quota_.open());
  builder.SetResourceQuota(receive_quota_.get());
  using Experimental = grpc::ServerBuilder::experimental_type;
  std::unique_ptr<ConnectionAcceptor::Target> target = builder.experimental().AddExternalConnectionAcceptor(
      Experimental::ExternalConnectionType::FROM_FD, credentials.value());
  builder.RegisterService(&inference_);
  builder.RegisterService(&health_);
  reflection_.add_to(builder);
  builder.RegisterAsyncGenericService(&contributed_.service);
  for (uint32_t i = 0; i < settings.threads; ++i) {
    queues_.push_back(std::make_unique<InferQueue>(frontend_, inference_, builder.AddCompletionQueue()));
  }
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return internal_error("gRPC cannot listen on '", settings.address.text(settings.address.port), "'");
  }
  for (auto& queue : queues_) {
    methods_.arm(*queue->queue, queue->remote_channels);
    reflection_.arm(*queue->queue);
    for (int i = 0; i < kArmedCalls; ++i) GrpcInferCall::arm(*queue);
    for (int i = 0; i < kArmedStreams; ++i) InferStream::arm(*queue);
    for (int i = 0; i < kArmedStreams; ++i) ContributedCall::arm(contributed_, *queue->queue);
  }
  for (auto& queue : queues_) {
    threads_.emplace_back([this, completion_queue = queue->queue.get()] { run_queue(*completion_queue); });
    pthread_setname_np(threads_.back().native_handle(), cat("grpc-", threads_.size() - 1).c_str());
  }
  acceptor_->start(std::move(target),
                   opening_of(frontend_.host, settings.open_after_startup, [this](int opened) {
                     frontend_.host.log().info("Started GRPCInferenceService at ",
                                               frontend_.settings.address.text(opened));
                   }));
  return {};
}

bool GrpcServer::has_streams() const noexcept {
  return std::any_of(queues_.begin(), queues_.end(),
                     [](const auto& queue) { return !queue->streams.empty(); });
}

void GrpcServer::run_queue(grpc::ServerCompletionQueue& queue) noexcept {
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) Event::ended(tag, ok);
}

void GrpcServer::drain(int64_t deadline_ns, bool exiting) {
  if (server_ == nullptr || drainer_.joinable()) return;
  const std::chrono::nanoseconds left(std::max<int64_t>(0, deadline_ns - frontend_.host.clock().now_ns()));
  const auto deadline = std::chrono::steady_clock::now() + left;
  if (exiting) {
    frontend_.calls.close();
  } else {
    acceptor_->close();
  }
  drainer_ = std::thread([this, deadline, exiting] {
    if (exiting) {
      std::unique_lock lock(mutex_);
      if (wake_.wait_until(lock, deadline, [this] { return stopping_; })) return;
    } else if (!leave(deadline)) {
      return;
    }
    acceptor_->close();
    const auto left_now = deadline - std::chrono::steady_clock::now();
    server_->Shutdown(std::chrono::system_clock::now() +
                      std::max(left_now, std::chrono::steady_clock::duration::zero()));
  });
}

bool GrpcServer::leave(std::chrono::steady_clock::time_point deadline) {
  CallGate& calls = frontend_.calls;
  calls.count_calls();
  const bool told = go_away_.send() > 0;
  uint64_t begun = calls.begun();
  auto quiet_since = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (acceptor_->open_connections() > 0) {
    if (wake_.wait_for(lock, kLookInterval, [this] { return stopping_; })) return false;
    const auto now = std::chrono::steady_clock::now();
    // Clients that cannot be told would go on calling.
    if (told && (calls.calls() > 0 || calls.begun() != begun)) quiet_since = now;
    begun = calls.begun();
    if (now >= deadline || now - quiet_since > kLeaveGrace) break;
  }
  lock.unlock();
  calls.close();
  return true;
}

void GrpcServer::stop() {
  frontend_.calls.close();
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  // A stream without requests is no reason to wait; its client hears why it ends.
  for (auto& queue : queues_) queue->streams.end_all(unavailable(messages::kGrpcShuttingDown));
  if (drainer_.joinable()) drainer_.join();
  if (acceptor_ != nullptr) acceptor_->stop();
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now() + kStopGrace);
  // Shutdown returns when gRPC has no calls any more; a request may still be with its model, or with who knows
  // whether it may be made.
  const AccessPoint& access = *frontend_.server.access;
  while (server_ != nullptr && (frontend_.calls.calls() > 0 || access.unsettled() > 0 || has_streams() ||
                                contributed_.open.load() > 0 || reflection_.open.load() > 0)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (auto& queue : queues_) queue->queue->Shutdown();
  for (std::thread& thread : threads_) thread.join();
  if (threads_.empty()) {
    for (auto& queue : queues_) run_queue(*queue->queue);  // start failed: nobody else empties them
  }
  threads_.clear();
  acceptor_.reset();
  server_.reset();
  queues_.clear();
}

}  // namespace atl::frontends::grpc_frontend
