#include "backends/python/process/line_reader.h"

#include <algorithm>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"

namespace atl::python {

void LineReader::add(std::string_view bytes, int64_t now_ns) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const size_t size =
        std::min(end == std::string_view::npos ? bytes.size() : end, kLineBytesMax - begun_.size());
    begun_.append(bytes.substr(0, size));
    if (size == end) {
      take(begun_, now_ns);
      begun_.clear();
      bytes.remove_prefix(size + 1);
      continue;
    }
    bytes.remove_prefix(size);
    if (begun_.size() == kLineBytesMax) {
      take(begun_, now_ns);
      begun_.clear();
    }
  }
}

void LineReader::finish(int64_t now_ns) {
  if (!begun_.empty()) take(begun_, now_ns);
  begun_.clear();
  if (left_out_ != 0) write_(cat("(", left_out_, " more lines were left out)"));
  left_out_ = 0;
}

void LineReader::take(std::string_view line, int64_t now_ns) {
  if (last_.size() == kKeptLines) last_.pop_front();
  last_.emplace_back(line);
  if (now_ns - second_ns_ >= kNsPerSecond) {
    second_ns_ = now_ns;
    lines_ = 0;
    if (left_out_ != 0)
      write_(cat("(", left_out_, " lines were left out: more than ", kLinesPerSecond, " a second)"));
    left_out_ = 0;
  }
  if (++lines_ > kLinesPerSecond) {
    ++left_out_;
  } else {
    write_(line);
  }
}

}  // namespace atl::python
