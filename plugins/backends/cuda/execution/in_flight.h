/// A batch from its execution to its answers.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "atoll/backend/responder.h"
#include "backends/cuda/pipeline/memory_block.h"
#include "backends/cuda/pipeline/stream.h"

namespace atl::cuda_backend {

/// What is to be done with the batch when its work is done on the device. Used by the thread that executes, then by the one
/// that answers; kept for the next batch.
class InFlight {
 public:
  InFlight(InferenceReporter* reporter, bool decoupled) noexcept
      : responder(reporter, decoupled), decoupled_(decoupled) {}
  /// Errors: as Cuda::report(). \param device  that all batches are for
  Status open(Cuda& cuda, int32_t device, bool spins) noexcept;

  void begin(const Batch& batch, int64_t now_ns);
  /// Pinned memory until the answer, or null: there is none to be had.
  std::byte* stage(const Followed<Memory>& pinned, uint64_t size_bytes, int32_t device) noexcept;

  /// Bytes for a request's output or state that arrive in host memory.
  void add_host_copy(uint32_t request, const std::byte* from, void* to, uint64_t size_bytes) {
    copies_.push_back({request, from, to, size_bytes});
  }
  /// What the request's output is written to, unless it is empty.
  void add_output(uint32_t request, const Buffer& to);
  /// A state whose buffer is complete then. \param name  of the plan
  void add_commit(uint32_t request, std::string_view name) {
    commits_.push_back({request, name});
    waits_[request] = true;
  }
  /// An input of the request that was not ready when its use was put into a stream.
  void add_source(uint32_t request, const Buffer& buffer);
  /// Records the events of the outputs that were added since the last call. Errors: as Stream::record().
  Status record_outputs(const Stream& stream) noexcept;

  /// Answers those that can be answered ahead of the device: all that they get is in its memory, with events of its own,
  /// and fails with the device or not at all. The rest, and their release, is up to settle() and answer().
  void answer_ahead() noexcept;

  /// The device is done: what is left to do for the answers, and their times. \param outcome  of the work
  void settle(const Status& outcome, const Clock& clock) noexcept;
  /// Answers and releases all requests.
  void answer() noexcept { responder.finish(times); }

  backends::BatchResponder responder;
  ExecutionTimes times;
  TimedEvent inputs_ready, computed, done;
  bool is_timed = false;  ///< all three are recorded
  TimedEvent begun;
  bool has_begun = false;  ///< it is recorded: the device had to wait for inputs

 private:
  struct HostCopy {
    uint32_t request = 0;
    const std::byte* from = nullptr;
    void* to = nullptr;
    uint64_t size_bytes = 0;
  };
  struct Commit {
    uint32_t request = 0;
    std::string_view name;
  };
  struct Source {
    uint32_t request = 0;
    Buffer buffer;
  };
  struct Output {
    uint32_t request = 0;
    CudaEvent event = nullptr;
  };
  void measure(int64_t now_ns) noexcept;

  std::vector<MemoryBlock> staging_;
  std::vector<HostCopy> copies_;
  std::vector<Commit> commits_;
  std::vector<Source> sources_;
  std::vector<Output> outputs_;  ///< whose events are the sink's
  size_t recorded_ = 0;          ///< of them
  std::vector<bool> waits_;      ///< by request: it cannot be answered ahead, or has been
  const bool decoupled_;
  int32_t device_ = 0;
};

}  // namespace atl::cuda_backend
