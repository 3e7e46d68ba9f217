/// What a worker asks of the server beside inference: models are loaded, unloaded, looked for.
#pragma once

#include <memory>
#include <mutex>

#include "backends/python/calls/server_link.h"
#include "backends/python/memory/protocol.h"
#include "backends/python/process/worker.h"

namespace atl::python {

/// The answers of calls, which may come when the worker has ended.
class Replies final : public std::enable_shared_from_this<Replies> {
 public:
  explicit Replies(Worker& worker) : worker_(&worker) {}
  /// [any] \param value  the bits of the result
  void send(uint64_t id, uint64_t value, const Status& failure = {});
  /// The worker has ended.
  void close() {
    std::lock_guard lock(mutex_);
    worker_ = nullptr;
  }

 private:
  std::mutex mutex_;
  Worker* worker_;
};

/// kLoadModel, kUnloadModel, kModelReady; answered by kReply, now or later. On the worker's reader thread.
/// Errors: the worker does not keep to the protocol.
Status take_control_call(const WorkerMemory& memory, const RingMessage& message, ServerLink& server,
                         const std::shared_ptr<Replies>& replies);

}  // namespace atl::python
