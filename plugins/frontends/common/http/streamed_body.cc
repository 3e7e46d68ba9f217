#include "frontends/common/http/streamed_body.h"

#include <cstdio>
#include <string_view>

namespace atl::frontends::http {
namespace {

constexpr size_t kBatchBytes = 256 * 1024;  ///< in one writing

iovec part_of(std::string_view bytes) noexcept { return {const_cast<char*>(bytes.data()), bytes.size()}; }

}  // namespace

bool StreamedBody::take_batch(std::vector<iovec>* parts) {
  parts->clear();
  batch_.clear();
  batch_bytes_ = 0;
  if (next_.empty()) return false;
  while (!next_.empty() && batch_bytes_ < kBatchBytes) {
    batch_bytes_ += next_.front().size();
    batch_.push_back(std::move(next_.front()));
    next_.pop_front();
  }
  if (is_chunked_) {
    char size[24];
    const int length = std::snprintf(size, sizeof size, "%zx\r\n", batch_bytes_);
    chunk_head_.assign(size, static_cast<size_t>(length));
    parts->push_back(part_of(chunk_head_));
  }
  for (const std::string& bytes : batch_) parts->push_back(part_of(bytes));
  if (is_chunked_) parts->push_back(part_of("\r\n"));
  return true;
}

}  // namespace atl::frontends::http
