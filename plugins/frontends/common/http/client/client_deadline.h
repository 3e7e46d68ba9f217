/// How long a connection waits for its client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace atl::frontends::http {

class ServingThread;

/// One time, for whatever is awaited of the client now. Of the worker's thread.
class ClientDeadline {
 public:
  /// \param worker  outlives this
  explicit ClientDeadline(ServingThread& worker) noexcept : worker_(worker) {}

  int64_t now_ns() const noexcept;
  /// When the time for what is awaited is over.
  int64_t ns() const noexcept { return deadline_ns_; }

  void expect_by(int64_t now, int64_t timeout_ns) noexcept;
  /// The next request, or its beginning.
  void expect_request() noexcept;
  /// It is the application's turn. \param input_ended  the client is asked after some time whether it still reads
  void expect_answer(int64_t now, bool input_ended) noexcept;
  /// It is not the client's turn, or not known to be: then await_progress() begins its time.
  void expect_nothing() noexcept {
    deadline_ns_ = kNever;
    progress_bytes_ = 0;
  }
  void await_progress() noexcept;
  /// The client has sent or taken so many bytes; it has time for more if these were enough.
  void progress(size_t bytes) noexcept;

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  ServingThread& worker_;
  int64_t deadline_ns_ = 0;
  size_t progress_bytes_ = 0;  ///< since the deadline was set
};

}  // namespace atl::frontends::http
