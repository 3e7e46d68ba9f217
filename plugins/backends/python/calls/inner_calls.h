/// Requests of a worker to other models.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/request/inner_request.h"
#include "backends/python/calls/call_graph.h"
#include "backends/python/calls/executions.h"
#include "backends/python/calls/response_reader.h"
#include "backends/python/calls/server_link.h"
#include "backends/python/memory/protocol.h"
#include "backends/python/process/worker.h"

namespace atl::python {

class InnerCall;

/// On whose behalf a worker asks other models.
struct CallParent {
  uint32_t call_flags = 0;
  bool is_known = false;  ///< kCallerIsKnown
  std::string tenant, caller;
};

/// The calls of one worker that are open. They may outlive the worker: what comes then is dropped.
class InnerCalls final : public std::enable_shared_from_this<InnerCalls>, public CancellationListener {
 public:
  /// \param graph  outlives the calls \param node  of the instance
  InnerCalls(Worker& worker, ServerLink& server, CallGraph& graph, std::shared_ptr<CallGraph::Node> node)
      : memory_(worker.memory()), server_(server), graph_(graph), node_(std::move(node)), worker_(&worker) {}
  InnerCalls(const InnerCalls&) = delete;
  InnerCalls& operator=(const InnerCalls&) = delete;

  /// Of the batch that is executed from now on. [any]
  void set_parent(const Request& first);
  /// Calls that are open on behalf of what is cancelled are cancelled with it. One that the model makes later is not: it may clean up.
  void on_cancelled(uint64_t batch, uint64_t handle, bool is_whole) noexcept override;

  // --- on the worker's reader thread ---
  /// kInfer. \param executions  that the call may be part of. Errors: the worker does not keep to the protocol.
  Status infer(const RingMessage& message, const Executions& executions);
  /// kCancelInfer
  void cancel(uint64_t id);
  /// The worker has ended: its calls are cancelled.
  void close();

 private:
  friend class InnerCall;
  static constexpr size_t kOpenMax = 65536;

  /// The call's answer so far; null: nothing but the flags.
  void send(uint64_t id, Response* response, uint32_t flags, const Status& failure);
  void remove(uint64_t id);
  Status write(const Response* response, const Status& failure, RingMessage& message, const Block** block);

  const std::shared_ptr<WorkerMemory> memory_;
  ServerLink& server_;
  CallGraph& graph_;
  const std::shared_ptr<CallGraph::Node> node_;
  std::mutex mutex_;  // of what follows
  Worker* worker_;    ///< null: it has ended
  std::map<uint64_t, std::shared_ptr<InnerCall>> open_;
  CallParent parent_;
};

}  // namespace atl::python
