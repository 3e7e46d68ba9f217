/// The body of an answer that is made while it is sent.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace atl::frontends::http {

/// Not thread safe. Used again after begin().
class StreamedBody {
 public:
  /// \param is_chunked  else its end is that of the connection
  void begin(bool is_chunked) noexcept {
    is_chunked_ = is_chunked;
    is_ended_ = false;
  }
  bool is_chunked() const noexcept { return is_chunked_; }
  void add(std::string bytes) { next_.push_back(std::move(bytes)); }
  /// Nothing more is added.
  void end() noexcept { is_ended_ = true; }
  bool is_ended() const noexcept { return is_ended_; }

  /// Some of what was added becomes what is written, in place of what `parts` has. Those hold until the next batch.
  /// \returns false: nothing waits
  bool take_batch(std::vector<iovec>* parts);
  /// Of what was added, in the present batch; 0 after that.
  size_t take_batch_bytes() noexcept { return std::exchange(batch_bytes_, 0); }

 private:
  bool is_chunked_ = false;
  bool is_ended_ = false;
  std::string chunk_head_;
  size_t batch_bytes_ = 0;
  std::vector<std::string> batch_;  ///< being written
  std::deque<std::string> next_;    ///< waits for it
};

}  // namespace atl::frontends::http
