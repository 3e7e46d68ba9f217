/// What a worker prints, as lines for the log.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace atl::python {

/// Cuts a stream of bytes into lines. Longer ones are cut into pieces; of more than so many a second the rest is counted and left out. Not
/// thread safe.
class LineReader {
 public:
  static constexpr size_t kLineBytesMax = 8192;
  static constexpr uint32_t kLinesPerSecond = 1000;
  static constexpr size_t kKeptLines = 20;
  using Write = std::function<void(std::string_view line)>;

  explicit LineReader(Write write) : write_(std::move(write)) {}

  void add(std::string_view bytes, int64_t now_ns);
  /// What has no end yet is a line.
  void finish(int64_t now_ns);
  /// The last lines, for a report.
  const std::deque<std::string>& last_lines() const noexcept { return last_; }

 private:
  void take(std::string_view line, int64_t now_ns);

  Write write_;
  std::string begun_;
  std::deque<std::string> last_;
  int64_t second_ns_ = 0;
  uint32_t lines_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace atl::python
