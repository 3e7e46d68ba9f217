/// The gRPC server: listener, completion queues and their threads.
#pragma once

#include <grpcpp/server.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backplane.h"
#include "infer_queue.h"
#include "method_table.h"
#include "services.h"

namespace atl::frontends::grpc_frontend {

/// Everything of gRPC that this frontend has; gone with stop(). All functions [control].
class GrpcServer {
 public:
  /// Binds the address and starts the threads. \returns the server and, through bound_port, its port.
  /// Errors: as check_address_is_free(); INTERNAL gRPC refused to start; RESOURCE_EXHAUSTED no thread.
  static Result<std::unique_ptr<GrpcServer>> start(Backplane& backplane, int* bound_port) noexcept;
  ~GrpcServer();

  /// New calls are refused by the gate already. Calls in flight may go on until the deadline (the host's
  /// clock), then they are cancelled. \param keep_listening  stay reachable, so that health calls are
  /// answered; else close the listener and tell clients to connect anew. Returns at once.
  void drain(int64_t deadline_ns, bool keep_listening);
  /// Ends everything and waits for calls that still hold the gate.
  void stop();

 private:
  explicit GrpcServer(Backplane& backplane);
  Status build(int* bound_port);
  bool has_streams() const noexcept;
  void run_queue(grpc::ServerCompletionQueue& queue) noexcept;

  Backplane& backplane_;
  InferenceService inference_;
  HealthService health_;
  MethodTable methods_;
  std::vector<std::unique_ptr<InferQueue>> queues_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::thread> threads_;

  std::thread drainer_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  ///< the drainer need not wait any longer
};

}  // namespace atl::frontends::grpc_frontend
