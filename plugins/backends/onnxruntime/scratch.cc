#include "scratch.h"

#include <new>

namespace atl::ort {

Result<std::byte*> Scratch::reserve(uint64_t size_bytes) noexcept {
  if (block_.data != nullptr && block_.size_bytes >= size_bytes) return static_cast<std::byte*>(block_.data);
  release();
  if (memory_ != nullptr) {
    Result<Buffer> block = memory_->allocate(size_bytes, 0);
    if (!block.ok()) return std::move(block).status();
    block_ = *block;
  } else {
    void* data = ::operator new(size_bytes, std::align_val_t(kAlignment), std::nothrow);
    if (data == nullptr) {
      return make_status(Code::kResourceExhausted, "no memory for a gathered input of ", size_bytes,
                         " bytes");
    }
    block_.data = data;
    block_.size_bytes = size_bytes;
  }
  return static_cast<std::byte*>(block_.data);
}

void Scratch::release() noexcept {
  if (block_.data == nullptr) return;
  if (memory_ != nullptr) {
    memory_->free(block_);
  } else {
    ::operator delete(block_.data, std::align_val_t(kAlignment));
  }
  block_ = Buffer();
}

}  // namespace atl::ort
