/// Lines written by a thread of their own, so that nobody who logs waits for a disk or for whoever reads a
/// pipe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "atoll/core/status.h"

namespace atl::runtime {

/// Where lines go.
class LineFile {
 public:
  static std::shared_ptr<LineFile> standard_error();
  /// Opened for appending, made if it is not there, with its folders. Errors: UNAVAILABLE with the reason.
  static Result<std::shared_ptr<LineFile>> append_to(const std::string& path) noexcept;
  LineFile(int descriptor, bool owned) noexcept : descriptor_(descriptor), owned_(owned) {}
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile();
  int descriptor() const noexcept { return descriptor_; }

 private:
  const int descriptor_;
  const bool owned_;
};

/// A bounded queue and the thread that empties it. What does not fit, or cannot be written, is dropped and
/// counted. [any]
class LineWriter {
 public:
  static constexpr size_t kQueueBytesMost = 4 << 20;

  /// Without a thread to be had it writes in the caller's thread.
  explicit LineWriter(size_t queue_bytes_most = kQueueBytesMost);
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  /// Drops what is queued: flush() first. A thread that a write holds up is left behind.
  ~LineWriter();

  /// Never waits. Once the queue was full nothing is taken until half of it is written, so that gaps are few.
  /// Throws std::bad_alloc; then nothing was done.
  void push(std::shared_ptr<const LineFile> file, std::string line);
  /// Lines that did not fit, or could not be written, since the last call; 0 until there is room again and a line was
  /// written. For a line that says so.
  uint64_t take_overflow() noexcept;
  /// Waits until all that was pushed is written, or given up. \returns false: the time was not enough.
  bool flush(int64_t timeout_ms) noexcept;

  /// For a line that was lost before it came here.
  void count_dropped() noexcept;
  /// Lines lost so far, for any reason.
  uint64_t dropped() const noexcept;
  /// Lines that are not written yet. A signal handler may read it, as long as this object lives.
  const std::atomic<uint64_t>& pending() const noexcept;

 private:
  struct Queue;
  static void run(const std::shared_ptr<Queue>& queue) noexcept;

  const std::shared_ptr<Queue> queue_;  // the thread's too
  bool threaded_ = false;
};

}  // namespace atl::runtime
