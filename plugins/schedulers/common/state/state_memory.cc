#include "schedulers/common/state/state_memory.h"

#include <algorithm>
#include <new>

namespace atl::schedulers {
namespace {

/// Sizes come from backends.
constexpr uint64_t half_again(uint64_t size_bytes) noexcept {
  return size_bytes + std::min(size_bytes / 2, UINT64_MAX - size_bytes);
}

}  // namespace

DeviceEvent* StateBlock::event() noexcept {
  if (event_ != nullptr || !provider_ || provider_.minor() < Memory::kEventsMinor) return event_;
  Result<DeviceEvent*> made = provider_->make_event(buffer_.device_id);
  if (made.ok()) event_ = *made;
  return event_;
}

void StateBlock::reset() noexcept {
  if (event_ != nullptr) provider_->free_event(std::exchange(event_, nullptr));
  if (buffer_.data != nullptr && origin_ == Origin::kGrowable) {
    provider_->free_growable(buffer_);
  } else if (buffer_.data != nullptr && provider_) {
    provider_->free(buffer_);
  } else if (buffer_.data != nullptr && origin_ != Origin::kBorrowed) {
    ::operator delete(buffer_.data, std::align_val_t(StateMemory::kAlignment));
  }
  buffer_ = {};
  origin_ = Origin::kAllocated;
  provider_.reset();
}

StateMemory::StateMemory(Host& host, uint64_t growable_bytes) : growable_bytes_(growable_bytes) {
  for (size_t i = 0; i < kKinds; ++i) {
    providers_[i].emplace(host, [&host, i] {
      const auto kind = static_cast<MemoryKind>(i);
      return memory_of(host.registry(), kind, kind == MemoryKind::kGpu ? Memory::kDevicesMinor : 0);
    });
  }
}

Status StateMemory::open() noexcept {
  for (auto& provider : providers_) {
    if (provider) ATOLL_RETURN_IF_ERROR(provider->open());
  }
  return {};
}

void StateMemory::close() noexcept {
  for (auto& provider : providers_) {
    if (provider) provider->close();
  }
}

Result<StateBlock> StateMemory::allocate_kind(uint64_t size_bytes, MemoryKind kind,
                                              int64_t device_id) noexcept {
  StateBlock block;
  auto& provider = providers_[static_cast<size_t>(kind)];
  if (provider) block.provider_ = provider->hold();
  if (block.provider_) {
    Result<Buffer> buffer = block.provider_->allocate(size_bytes, device_id);
    if (!buffer.ok()) return std::move(buffer).status();
    block.buffer_ = *buffer;
    return block;
  }
  if (kind != MemoryKind::kCpu) return not_found("no plugin provides memory of this kind");
  block.buffer_.data =
      ::operator new(size_bytes == 0 ? 1 : size_bytes, std::align_val_t(kAlignment), std::nothrow);
  if (block.buffer_.data == nullptr) {
    return make_status(Code::kResourceExhausted, "the system has no ", size_bytes,
                       " bytes for the state of a sequence");
  }
  block.buffer_.size_bytes = size_bytes;
  return block;
}

Result<StateBlock> StateMemory::allocate(uint64_t size_bytes, MemoryKind kind, int64_t device_id) noexcept {
  // A number that is no kind of memory comes from a backend that is newer than this.
  if (static_cast<size_t>(kind) < kKinds && kind != MemoryKind::kCpu) {
    Result<StateBlock> block = allocate_kind(size_bytes, kind, device_id);
    if (block.ok()) return block;
  }
  return allocate_kind(size_bytes, MemoryKind::kCpu, 0);
}

Result<StateBlock> StateMemory::allocate_growable(uint64_t size_bytes, MemoryKind kind,
                                                  int64_t device_id) noexcept {
  if (growable_bytes_ != 0 && static_cast<size_t>(kind) < kKinds) {
    auto& provider = providers_[static_cast<size_t>(kind)];
    StateBlock block;
    if (provider) block.provider_ = provider->hold();
    if (block.provider_ && block.provider_.minor() >= Memory::kGrowableMinor) {
      const uint64_t most_bytes = std::max(growable_bytes_, half_again(size_bytes));
      Result<Buffer> buffer = block.provider_->allocate_growable(size_bytes, most_bytes, device_id);
      if (buffer.ok()) {
        block.buffer_ = *buffer;
        block.origin_ = StateBlock::Origin::kGrowable;
        return block;
      }
    }
  }
  // So that what grows in many small steps is copied a few times and not in each of them.
  Result<StateBlock> block = allocate(half_again(size_bytes), kind, device_id);
  if (!block.ok()) block = allocate(size_bytes, kind, device_id);
  return block;
}

Status StateMemory::copy(const StateBlock& to, const StateBlock& from, uint64_t size_bytes) noexcept {
  Buffer target = to.buffer_, source = from.buffer_;
  source.size_bytes = size_bytes;
  if (target.kind != MemoryKind::kGpu && source.kind != MemoryKind::kGpu) return copy_on_host(target, source);
  const auto& provider = source.kind == MemoryKind::kGpu ? from.provider_ : to.provider_;
  if (target.kind == source.kind && to.provider_.get() != provider.get()) {
    return internal_error("the state is in memory of a GPU whose provider was replaced");
  }
  return provider->copy(target, source);
}

}  // namespace atl::schedulers
