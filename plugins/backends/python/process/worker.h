/// One worker: its process, the memory shared with it, and the messages in both directions.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/file_descriptor.h"
#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "atoll/gpu/device_memory.h"
#include "backends/python/memory/block_allocator.h"
#include "backends/python/memory/message_ring.h"
#include "backends/python/memory/payload.h"
#include "backends/python/memory/protocol.h"
#include "backends/python/memory/shared_region.h"
#include "backends/python/memory/slab_table.h"
#include "backends/python/process/line_reader.h"
#include "backends/python/process/worker_process.h"
#include "backends/python/worker_loop.h"

namespace atl::python {

class CallGraph;
class MetricRegistry;
class ServerLink;
class WorkerMetrics;

/// What workers need of the server; outlives them.
struct WorkerContext {
  WorkerLoop& loop;
  ExecutorFactory& executors;
  Clock& clock;
  Log& log;
  ServerLink& server;
  MetricRegistry& metrics;
  CallGraph& graph;
  WorkerMetrics& worker_metrics;
  const DeviceMemory& devices;
};

struct WorkerSpec {
  std::string name;  ///< of the instance, as the log and error texts have it
  ProcessSpec process;
  uint64_t first_slab_bytes = 1 << 20;
  uint64_t shared_bytes = UINT64_MAX;  ///< most that is shared with it
};

/// What both sides have. Requests and responses of other models may be in it when the worker has ended.
struct WorkerMemory {
  WorkerMemory(const WorkerSpec& spec, SlabTable::Sender& sender)
      : slabs(spec.name, spec.shared_bytes, sender), blocks(slabs, spec.first_slab_bytes) {}
  SlabTable slabs;
  BlockAllocator blocks;
};

/// The payload of a message from a worker. \returns false: there is none, or it is outside of what is shared
bool payload_of(const WorkerMemory& memory, const RingMessage& message, PayloadView& payload) noexcept;
/// This side is done with the payload of a message from a worker.
void release_payload(const WorkerMemory& memory, const RingMessage& message) noexcept;

/// Told on the worker's reader thread, or on one that reads for it (Worker::read_until()): one call at a time.
class WorkerListener {
 public:
  /// One that the worker itself does not deal with. \returns why such a message cannot be, for a worker that has broken its protocol
  virtual Status on_message(const RingMessage& message) noexcept = 0;
  /// The last call: the process is gone. \param how  "worker 'm_0_0' (process 12) was killed by signal 9 (Killed)"
  virtual void on_end(const std::string& how) noexcept = 0;

 protected:
  ~WorkerListener() = default;
};

/// From before its process begins until after it has ended.
class Worker final : private SlabTable::Sender {
 public:
  /// Errors: RESOURCE_EXHAUSTED, UNAVAILABLE: the process, its memory or its thread is not to be had. Otherwise the listener is told the end.
  static Result<std::unique_ptr<Worker>> start(const WorkerContext& context, WorkerSpec spec,
                                               WorkerListener& listener);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Kills what still runs and waits until the listener has been told. Not on the reader thread; on the loop's thread only after the end.
  ~Worker();

  /// [any] Onto the work ring. \returns false: it is full, which a worker that keeps to the protocol does not let happen
  bool send_work(const RingMessage& message) noexcept;
  /// [any] Onto the side ring, as soon as there is room in it. \param sent_block  given back once it is sent; may be null
  void send_side(const RingMessage& message, const Block* sent_block = nullptr) noexcept;
  /// [any] The end, unless it has come; the reason is what listener and log are told instead of how the process ended.
  void kill(std::string reason) noexcept;
  /// [any] Whether its end of the socket is closed: it is ending by itself, and what the listener will be told says how.
  bool has_left() const noexcept;

  const std::shared_ptr<WorkerMemory>& memory() const noexcept { return memory_; }
  BlockAllocator& blocks() noexcept { return memory_->blocks; }
  const std::string& name() const noexcept { return spec_.name; }
  pid_t pid() const noexcept { return pid_; }
  /// The next message is for read_until() of this thread, or stop_expecting(), and for no other. Before what is answered by it is sent: where
  /// both processes share a CPU, the worker may answer before this thread goes on, and would wake up the reader. [any], one at a time
  void expect_message() noexcept { out_->arm_direct(); }
  void stop_expecting() noexcept {
    if (out_->disarm_direct()) take_all();
  }
  /// Does the reader's work on this thread until `is_done` says so, at most until the deadline: who waits for a short answer need not be told
  /// by another thread. Not from inside the listener: see is_reading(). [any]
  template <class Done>
  void read_until(int64_t deadline_ns, Done&& is_done) noexcept {
    while (true) {
      out_->arm_direct();
      take_all();
      const int64_t left_ns = deadline_ns - context_.clock.now_ns();
      if (is_done() || left_ns <= 0 || out_->is_closed()) break;
      out_->wait_direct(left_ns);
    }
    stop_expecting();
  }
  /// Whether this thread is inside a worker's listener.
  static bool is_reading() noexcept;
  /// The reader looks at the ring, for messages that wake nobody. \returns whether there are none. [any]
  bool look() noexcept;

 private:
  Worker(const WorkerContext& context, WorkerSpec spec, WorkerListener& listener);
  Status open();
  Status start_process();
  bool send_slab(const SlabPacket& packet, int descriptor) noexcept override;
  bool send_packet(const void* packet, size_t size, int descriptor) noexcept;
  void read_reply();
  void read_output(const FileDescriptor& from, LineReader& to);
  void on_exit();
  void check_processes();
  std::string end_text(const ProcessEnd& end) const;
  void read() noexcept;
  RingConsumer::State take_all() noexcept;
  Status handle(const RingMessage& message) noexcept;
  void give_slab(uint64_t size_bytes) noexcept;
  void send_pending() noexcept;

  const WorkerContext context_;
  const WorkerSpec spec_;
  WorkerListener& listener_;
  SharedRegion control_;
  const std::shared_ptr<WorkerMemory> memory_;
  FileDescriptor socket_;

  std::mutex send_mutex_;  // of what follows
  std::unique_ptr<RingProducer> work_, side_;
  std::deque<std::pair<RingMessage, const Block*>> pending_;
  std::unique_ptr<RingConsumer> out_;

  // On the loop's thread.
  std::shared_ptr<Worker*> self_ =
      std::make_shared<Worker*>(this);  ///< null at the end; for what was posted before
  WorkerProcess process_;
  FileDescriptor output_, errors_;
  LineReader output_lines_, error_lines_;
  bool replied_ = false;
  WorkerLoop::Timer processes_timer_ = 0;

  std::atomic<pid_t> pid_{0};
  std::mutex end_mutex_;  // of what follows
  std::string reason_;    // why it was killed
  std::string end_;
  std::mutex read_mutex_;   // held by whoever takes messages and handles them
  bool is_broken_ = false;  // under it: what the worker says is not listened to any more
  SerialExecutorPtr reader_;
};

}  // namespace atl::python
