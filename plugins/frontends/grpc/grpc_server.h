/// The gRPC server: listener, completion queues and their threads.
#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "frontends/common/grpc/call_context.h"
#include "frontends/grpc/calls/contributed_call.h"
#include "frontends/grpc/calls/infer_queue.h"
#include "frontends/grpc/calls/method_table.h"
#include "frontends/grpc/calls/reflection_call.h"
#include "frontends/grpc/connection_acceptor.h"
#include "frontends/grpc/go_away.h"
#include "frontends/grpc/receive_quota.h"
#include "frontends/grpc/services.h"

namespace atl::frontends::grpc_frontend {

/// Everything of gRPC that this frontend has; gone with stop(). All functions [control].
class GrpcServer {
 public:
  /// Binds the address and starts the threads. \returns the server and, through bound_port, its port.
  /// Errors: as listen_on(); INTERNAL gRPC refused to start; RESOURCE_EXHAUSTED no thread.
  static Result<std::unique_ptr<GrpcServer>> start(GrpcCallContext& frontend, int* bound_port) noexcept;
  ~GrpcServer();

  /// Calls in flight may go on until the deadline (the host's clock), then they are cancelled.
  /// \param exiting  the server as a whole ends: new calls are refused, and connections are still taken, so
  /// that health calls are answered. Else another instance may be taking over: no more connections are taken,
  /// clients are told to connect anew, and the calls they make until then are answered. Returns at once.
  void drain(int64_t deadline_ns, bool exiting);
  /// Ends everything and waits for calls that still hold the gate.
  void stop();

 private:
  explicit GrpcServer(GrpcCallContext& frontend);
  Status build(int* bound_port);
  bool has_streams() const noexcept;
  void run_queue(grpc::ServerCompletionQueue& queue) noexcept;
  /// Sends clients away and waits until they have gone. False: the server stops.
  bool leave(std::chrono::steady_clock::time_point deadline);

  GrpcCallContext& frontend_;
  InferenceService inference_;
  HealthService health_;
  MethodTable methods_;
  ContributedCalls contributed_;
  ReflectionCalls reflection_;
  std::vector<std::unique_ptr<InferQueue>> queues_;
  ReceiveQuota receive_quota_;
  GoAway go_away_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ConnectionAcceptor> acceptor_;
  std::vector<std::thread> threads_;

  std::thread drainer_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  ///< the drainer need not wait any longer
};

}  // namespace atl::frontends::grpc_frontend
