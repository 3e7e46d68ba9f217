/// The memory that one worker shares with this process, by the numbers that messages have for it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "atoll/core/status.h"
#include "backends/python/memory/protocol.h"
#include "backends/python/memory/shared_region.h"

namespace atl::python {

/// Slabs are added and stay until the end. [any]
class SlabTable {
 public:
  /// Hands a new slab to the worker. One call at a time. \returns whether it could be sent
  class Sender {
   public:
    virtual bool send_slab(const SlabPacket& packet, int descriptor) noexcept = 0;

   protected:
    ~Sender() = default;
  };

  /// \param name  of the worker, as /proc shows it \param limit_bytes  of all slabs together
  SlabTable(std::string name, uint64_t limit_bytes, Sender& sender)
      : name_(std::move(name)), limit_bytes_(limit_bytes), sender_(&sender) {}
  SlabTable(const SlabTable&) = delete;
  SlabTable& operator=(const SlabTable&) = delete;

  struct Slab {
    uint32_t index = 0;
    SharedRegion* region = nullptr;  ///< as long as the table
  };
  /// A new one, which the worker has been sent. Errors: RESOURCE_EXHAUSTED the limit, or what the system has.
  Result<Slab> add(SlabOwner owner, uint64_t size_bytes);
  /// The worker is gone, and its sender goes: add() fails from here on. What is there stays.
  void close() noexcept {
    std::lock_guard lock(mutex_);
    sender_ = nullptr;
  }
  /// Where these bytes are; null: there are none such.
  std::byte* find(uint32_t slab, uint64_t offset, uint64_t size_bytes) const noexcept {
    if (slab >= kMaxSlabs) return nullptr;
    const SharedRegion* region = known_[slab].load(std::memory_order_acquire);
    if (region == nullptr || size_bytes > region->size_bytes() || offset > region->size_bytes() - size_bytes)
      return nullptr;
    return region->data() + offset;
  }
  uint64_t size_bytes() const noexcept { return size_bytes_.load(std::memory_order_relaxed); }

 private:
  const std::string name_;
  const uint64_t limit_bytes_;
  Sender* sender_;
  std::mutex mutex_;
  uint32_t count_ = 0;
  std::atomic<uint64_t> size_bytes_{0};
  std::array<std::unique_ptr<SharedRegion>, kMaxSlabs> regions_;
  std::array<std::atomic<const SharedRegion*>, kMaxSlabs> known_{};
};

}  // namespace atl::python
