/// Memory of a GPU that has events, without a GPU: the CPU reaches it.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

#include "atoll/memory/memory.h"

namespace atl::ensemble {

/// A device's event, which a test has reached; nobody should wait for it before that. [any]
class SteppedEvent final : public DeviceEvent {
 public:
  explicit SteppedEvent(std::atomic<uint32_t>& waits) noexcept : waits_(waits) {}
  virtual ~SteppedEvent() = default;
  bool is_reached() noexcept override { return !is_pending_; }
  Status wait() noexcept override {
    if (is_pending_) ++waits_;
    is_pending_.wait(true);
    return {};
  }
  void* native_handle() noexcept override { return this; }

  /// It is in a stream now.
  void record() noexcept { is_pending_ = true; }
  void reach() noexcept {
    is_pending_ = false;
    is_pending_.notify_all();
  }

 private:
  std::atomic<uint32_t>& waits_;
  std::atomic<bool> is_pending_{false};
};

/// [any]
class EventMemory final : public Memory {
 public:
  virtual ~EventMemory() = default;
  MemoryKind kind() const noexcept override { return MemoryKind::kGpu; }
  Result<Buffer> allocate(uint64_t size_bytes, int64_t device_id) noexcept override {
    Buffer buffer;
    buffer.data = ::operator new(size_bytes, kAlignment);
    buffer.size_bytes = size_bytes;
    buffer.kind = MemoryKind::kGpu;
    buffer.device_id = static_cast<int32_t>(device_id);
    ++buffers;
    return buffer;
  }
  void free(const Buffer& buffer) noexcept override {
    ::operator delete(buffer.data, kAlignment);
    --buffers;
  }
  uint64_t used_bytes() const noexcept override { return 0; }
  uint64_t limit_bytes() const noexcept override { return 0; }
  Result<DeviceEvent*> make_event(int64_t /*device_id*/) noexcept override {
    ++events;
    return new SteppedEvent(waits);
  }
  void free_event(DeviceEvent* event) noexcept override {
    delete static_cast<SteppedEvent*>(event);
    --events;
  }

  std::atomic<uint32_t> buffers{0}, events{0};  ///< that were not given back
  std::atomic<uint32_t> waits{0};               ///< of the host for the device

 private:
  static constexpr std::align_val_t kAlignment{64};
};

}  // namespace atl::ensemble
