#include "backends/onnxruntime/scratch.h"

#include <new>

namespace atl::ort {

ScratchSource::ScratchSource(Host& host, MemoryKind kind)
    : kind_(kind),
      memory_(
          host, [&host, kind] { return memory_of(host.registry(), kind); },
          [this] { give_back_outdated(); }) {}

void ScratchSource::add(Scratch* scratch) noexcept {
  std::lock_guard lock(mutex_);
  scratches_.insert(scratch);
}

void ScratchSource::remove(Scratch* scratch) noexcept {
  std::lock_guard lock(mutex_);
  scratches_.erase(scratch);
}

void ScratchSource::give_back_outdated() noexcept {
  std::lock_guard lock(mutex_);
  for (Scratch* scratch : scratches_) scratch->give_back_outdated();
}

Scratch::Scratch(ScratchSource* source, uint64_t keep_bytes, int32_t device) noexcept
    : source_(source), keep_bytes_(keep_bytes), device_(device) {
  if (source_ != nullptr) source_->add(this);
}

Scratch::~Scratch() {
  if (source_ != nullptr) source_->remove(this);
  release();
}

Result<std::byte*> Scratch::reserve(uint64_t size_bytes) noexcept {
  std::lock_guard lock(mutex_);
  in_use_ = true;
  if (block_.data != nullptr && block_.size_bytes >= size_bytes) return static_cast<std::byte*>(block_.data);
  release();
  if (source_ != nullptr) memory_ = source_->memory_.hold();
  if (memory_) {
    Result<Buffer> block = memory_->allocate(size_bytes, device_);
    if (block.ok()) {
      block_ = *block;
      return static_cast<std::byte*>(block_.data);
    }
    // A pool of pinned memory is small, and any other memory of the host does as well.
    if (source_->kind_ != MemoryKind::kCpuPinned) return std::move(block).status();
    memory_.reset();
  }
  if (source_ != nullptr && source_->kind_ == MemoryKind::kGpu) {
    return make_status(Code::kUnavailable, "no plugin provides GPU memory");
  }
  void* data = ::operator new(size_bytes, std::align_val_t(kAlignment), std::nothrow);
  if (data == nullptr) {
    return make_status(Code::kResourceExhausted, "no memory for a gathered input of ", size_bytes, " bytes");
  }
  block_.data = data;
  block_.size_bytes = size_bytes;
  return static_cast<std::byte*>(block_.data);
}

void Scratch::done() noexcept {
  if (!in_use_) return;
  std::lock_guard lock(mutex_);
  in_use_ = false;
  if (block_.size_bytes > keep_bytes_ || is_outdated()) release();
}

void Scratch::give_back_outdated() noexcept {
  std::lock_guard lock(mutex_);
  if (!in_use_ && is_outdated()) release();
}

bool Scratch::is_outdated() const noexcept {
  if (memory_) return memory_.is_outdated();
  return source_ != nullptr && source_->memory_.is_present();
}

void Scratch::release() noexcept {
  if (block_.data != nullptr && memory_) {
    memory_->free(block_);
  } else if (block_.data != nullptr) {
    ::operator delete(block_.data, std::align_val_t(kAlignment));
  }
  block_ = Buffer();
  memory_.reset();
}

}  // namespace atl::ort
