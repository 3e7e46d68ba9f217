/// One registered region and what all regions together take.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "atoll/memory/shared_memory.h"
#include "memory/shared/device_mapping.h"
#include "memory/shared/shared_object.h"

namespace atl::memory {

/// Counts regions that are mapped, registered or not, and their bytes. Never over a limit, not even for a
/// moment. [any]
class RegionUsage {
 public:
  /// \param max_regions, max_bytes  most at a time
  RegionUsage(uint64_t max_regions, uint64_t max_bytes) noexcept
      : max_regions_(max_regions), max_bytes_(max_bytes) {}

  /// What is counted stays, also where it is more than that.
  void limit(uint64_t max_regions, uint64_t max_bytes) noexcept {
    max_regions_.store(max_regions, std::memory_order_relaxed);
    max_bytes_.store(max_bytes, std::memory_order_relaxed);
  }

  bool add_region() noexcept { return add(regions_, 1, max_regions()); }
  bool add_bytes(uint64_t bytes) noexcept { return add(bytes_, bytes, max_bytes()); }
  void remove_region() noexcept { regions_.fetch_sub(1, std::memory_order_relaxed); }
  void remove_bytes(uint64_t bytes) noexcept { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  uint64_t regions() const noexcept { return regions_.load(std::memory_order_relaxed); }
  uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  uint64_t max_regions() const noexcept { return max_regions_.load(std::memory_order_relaxed); }
  uint64_t max_bytes() const noexcept { return max_bytes_.load(std::memory_order_relaxed); }

 private:
  static bool add(std::atomic<uint64_t>& count, uint64_t more, uint64_t limit) noexcept {
    uint64_t now = count.load(std::memory_order_relaxed);
    do {
      if (more > limit || now > limit - more) return false;
    } while (!count.compare_exchange_weak(now, now + more, std::memory_order_relaxed));
    return true;
  }

  std::atomic<uint64_t> max_regions_;
  std::atomic<uint64_t> max_bytes_;
  std::atomic<uint64_t> regions_{0};
  std::atomic<uint64_t> bytes_{0};
};

/// What one region has counted in RegionUsage; given back when it goes. Move-only.
class UsageShare {
 public:
  explicit UsageShare(RegionUsage& usage) noexcept : usage_(&usage) {}
  UsageShare(UsageShare&& other) noexcept
      : usage_(other.usage_),
        has_region_(std::exchange(other.has_region_, false)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  UsageShare& operator=(UsageShare&&) = delete;
  UsageShare(const UsageShare&) = delete;
  UsageShare& operator=(const UsageShare&) = delete;
  ~UsageShare() {
    if (has_region_) usage_->remove_region();
    usage_->remove_bytes(bytes_);
  }
  bool add_region() noexcept { return has_region_ = usage_->add_region(); }
  bool add_bytes(uint64_t bytes) noexcept {
    if (!usage_->add_bytes(bytes)) return false;
    bytes_ += bytes;
    return true;
  }

 private:
  RegionUsage* usage_;
  bool has_region_ = false;
  uint64_t bytes_ = 0;
};

/// Lives while it is registered or used: whoever holds it has one of its references, which the table that it
/// is in gives and takes back. [any]
class Region {
 public:
  /// \param owner  empty: nobody
  Region(SharedMemoryRegion about, std::string owner, UsageShare share, Mapping mapping,
         int64_t now_ns) noexcept
      : about_(std::move(about)),
        owner_(std::move(owner)),
        share_(std::move(share)),
        mapping_(std::move(mapping)),
        last_used_ns_(now_ns) {}
  Region(SharedMemoryRegion about, std::string owner, UsageShare share, DeviceMapping mapping,
         int64_t now_ns) noexcept
      : about_(std::move(about)),
        owner_(std::move(owner)),
        share_(std::move(share)),
        device_mapping_(std::move(mapping)),
        last_used_ns_(now_ns) {}
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  const SharedMemoryRegion& about() const noexcept { return about_; }
  const std::string& owner() const noexcept { return owner_; }
  /// All of its bytes.
  Buffer buffer() const noexcept {
    Buffer buffer = device_mapping_.buffer();
    if (about_.kind == RegionKind::kSystem) buffer.data = mapping_.data();
    buffer.size_bytes = about_.byte_size;
    return buffer;
  }
  bool broken() const noexcept { return about_.kind == RegionKind::kSystem && mapping_.broken(); }
  /// Whether what it is on is still there. Errors: INVALID_ARGUMENT its object has shrunk; UNAVAILABLE its device is
  /// lost.
  Status check() const noexcept;
  /// Its device's provider is going and waits for the region's end.
  bool is_outdated() const noexcept { return device_mapping_.is_outdated(); }

  /// False: the last one is gone, and with it the region.
  bool add_reference() noexcept {
    uint32_t now = references_.load(std::memory_order_relaxed);
    while (now != 0) {
      if (references_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  /// True: it was the last one; the caller takes the region out of the table and deletes it.
  bool drop_reference() noexcept { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  /// One is the table's while the region is registered.
  uint32_t references() const noexcept { return references_.load(std::memory_order_acquire); }

  /// Until somebody unregisters it. Changed by the table, under its lock.
  bool registered() const noexcept { return registered_.load(std::memory_order_relaxed); }
  void set_unregistered() noexcept { registered_.store(false, std::memory_order_relaxed); }

  int64_t last_used_ns() const noexcept { return last_used_ns_.load(std::memory_order_relaxed); }
  void touch(int64_t now_ns) noexcept { last_used_ns_.store(now_ns, std::memory_order_relaxed); }

 private:
  const SharedMemoryRegion about_;
  const std::string owner_;
  UsageShare share_;              // before the mapping, so that it is given back after it is unmapped
  Mapping mapping_;               // of a system region
  DeviceMapping device_mapping_;  // of a CUDA region
  std::atomic<uint32_t> references_{1};
  std::atomic<bool> registered_{true};
  std::atomic<int64_t> last_used_ns_;
};

}  // namespace atl::memory
