/// The batches that are inside one worker, from execute() until their last response.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/clock.h"
#include "atoll/core/log.h"
#include "atoll/gpu/device_memory.h"
#include "backends/python/calls/batch_writer.h"
#include "backends/python/calls/response_reader.h"
#include "backends/python/calls/unknown_outputs.h"
#include "backends/python/memory/block_allocator.h"
#include "backends/python/memory/payload.h"
#include "backends/python/memory/protocol.h"
#include "backends/python/memory/slab_table.h"
#include "backends/python/process/worker_metrics.h"

namespace atl::python {

/// What all batches of an instance have in common; outlives them.
struct ExecutionContext {
  std::string model;
  bool decoupled = false;
  InferenceReporter* reporter = nullptr;  ///< null: nothing is reported
  Clock* clock = nullptr;
  Log* log = nullptr;
  const DeviceMemory* devices = nullptr;      ///< null: inputs of GPUs are refused
  std::shared_ptr<WorkerCounts> counts = {};  ///< null: nothing is counted
  UnknownOutputs* outputs = nullptr;          ///< null: answers may be any
};

/// Told that clients have left. [any] It must not block.
class CancellationListener {
 public:
  /// \param batch  handle of its first request, which names it \param handle  of the request that is cancelled
  /// \param is_whole  all requests of the batch are cancelled now
  virtual void on_cancelled(uint64_t batch, uint64_t handle, bool is_whole) noexcept = 0;

 protected:
  ~CancellationListener() = default;
};

/// Answers every request that it is given once and releases it once, whatever the worker does.
class Executions final : private CancelListener {
 public:
  Executions(const ExecutionContext& context, BlockAllocator& blocks, const SlabTable& slabs) noexcept
      : context_(context), blocks_(blocks), slabs_(slabs) {}
  Executions(const Executions&) = delete;
  Executions& operator=(const Executions&) = delete;
  /// Before anything is prepared. \param listener  outlives this
  void set_cancellation_listener(CancellationListener& listener) noexcept { cancellations_ = &listener; }

  // --- one thread at a time ---
  /// Copies the requests for the worker. \param message  kExecute, to be sent after begin()
  /// Errors: as write_batch()
  Status prepare(std::span<Request* const> requests, int64_t start_ns, RingMessage& message);
  /// What was prepared belongs to the worker from here on, which is sent the message by `send`: bool(). The requests may be gone when it
  /// returns. \returns false: the worker has ended or takes nothing, and no request was touched
  template <class Send>
  bool begin(Send&& send) noexcept {
    listen();
    std::lock_guard lock(mutex_);
    if (!is_closed_ && send()) {
      keep();
      return true;
    }
    drop();
    return false;
  }

  // --- on the worker's reader thread ---
  /// Called when a batch has returned, before its requests are answered.
  class Returned {
   public:
    virtual void on_returned() noexcept = 0;

   protected:
    ~Returned() = default;
  };
  /// Responses have come. Errors: the worker does not keep to the protocol.
  Status take(const RingMessage& message, const PayloadView& payload, Returned& returned) noexcept;
  /// The trace of the request of this handle; of 0 that of the only one that is inside. Null: it is not traced, or has been released. As long as
  /// nothing else is taken.
  Trace* trace_of(uint64_t handle) const noexcept;
  /// The worker has ended: all that is inside is answered so, and nothing comes in any more.
  void fail_all(const Status& failure) noexcept;
  /// When the batch that has not returned yet was begun, ns; 0: there is none. [any]
  int64_t running_since_ns() const noexcept { return running_since_ns_.load(std::memory_order_relaxed); }

 private:
  struct Execution;
  struct Entry {
    Execution* execution = nullptr;
    uint64_t handle = 0;
    Request* request = nullptr;
    ResponseSink* sink = nullptr;
    Response* response = nullptr;  ///< not sent yet
    uint32_t* cancelled = nullptr;
    bool listens = false;
    bool reschedules = false;
    bool is_last = false;   ///< the worker has said kLast
    bool is_final = false;  ///< the sink has got kFinal, or will get nothing
    bool is_released = false;
    Code code = Code::kOk;  ///< of the response
  };
  struct Execution {
    uint64_t first_handle = 0;
    std::vector<Entry> entries;
    const Block* block = nullptr;
    ExecutionTimes times;
    uint32_t open = 0;  ///< entries that are not final and released
    std::atomic<uint32_t> cancelled{0};
    bool has_returned = false;
  };

  void on_cancel(void* entry) noexcept override;
  void listen() noexcept;
  void keep() noexcept;
  void drop() noexcept;
  Execution* find(uint64_t handle) const noexcept;
  Status take_returned(const RingMessage& message, const PayloadView& payload, Returned& returned) noexcept;
  Status take_some(const PayloadView& payload) noexcept;
  Status absorb(Entry& entry, const ResponseRecord& record, const PayloadView& payload) noexcept;
  void deliver(Execution& execution, Entry& entry) noexcept;
  void end(Entry& entry, Response* response) noexcept;
  void report(Execution& execution) noexcept;
  void release(Execution& execution, Entry& entry) noexcept;
  void fail(Entry& entry, Status failure) noexcept;
  void forget_if_done(Execution& execution) noexcept;
  Response* error_response(const Entry& entry, Status failure) noexcept;

  const ExecutionContext& context_;
  BlockAllocator& blocks_;
  const SlabTable& slabs_;
  CancellationListener* cancellations_ = nullptr;

  // Of whoever prepares.
  WrittenBatch batch_;
  std::unique_ptr<Execution> prepared_;
  uint64_t next_handle_ = 1;

  mutable std::mutex mutex_;  // of what follows
  std::map<uint64_t, std::unique_ptr<Execution>>
      executions_;  // by first handle; values: of the reader's thread
  std::unique_ptr<Execution> spare_;
  bool is_closed_ = false;

  std::atomic<int64_t> running_since_ns_{0};
  std::vector<ResponseRecord> records_;  // of the reader's thread
};

}  // namespace atl::python
