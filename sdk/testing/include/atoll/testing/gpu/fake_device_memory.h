/// A GPU's memory without a GPU.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/memory/memory.h"

namespace atl::test {

/// Reached when the test says so. [any]
class FakeDeviceEvent final : public DeviceEvent {
 public:
  virtual ~FakeDeviceEvent() = default;
  /// Once. \param outcome  not OK: what wait() gives, the bytes are lost
  void reach(Status outcome = {}) {
    std::lock_guard lock(mutex_);
    outcome_ = std::move(outcome);
    reached_ = true;
    changed_.notify_all();
  }
  /// Threads that wait at this moment.
  uint32_t waiting() const {
    std::lock_guard lock(mutex_);
    return waiting_;
  }

  bool is_reached() noexcept override {
    std::lock_guard lock(mutex_);
    return reached_;
  }
  Status wait() noexcept override {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [this] { return reached_; });
    --waiting_;
    return outcome_.clone();
  }
  void* native_handle() noexcept override { return nullptr; }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Status outcome_;
  bool reached_ = false;
  uint32_t waiting_ = 0;
};

/// Memory of kind kGpu whose addresses the CPU cannot follow: whoever does gets SIGSEGV. Behind each stands
/// memory of the host, which copy() reaches. Handles of other processes are names of POSIX shared memory
/// objects that begin with kHandlePrefix, filled up with zeros to 64 bytes. Ends the process where real
/// hardware would corrupt memory: a wrong free, or addresses that it did not give. [any]
class FakeDeviceMemory final : public Memory {
 public:
  static constexpr size_t kHandleBytes = 64;
  static constexpr std::string_view kHandlePrefix = "/atoll-fake-device-";

  /// \param devices      ids from 0 on
  /// \param limit_bytes  of all devices together; 0: none
  explicit FakeDeviceMemory(int32_t devices = 2, uint64_t limit_bytes = 0)
      : devices_(devices), limit_bytes_(limit_bytes) {}
  FakeDeviceMemory(const FakeDeviceMemory&) = delete;
  FakeDeviceMemory& operator=(const FakeDeviceMemory&) = delete;
  virtual ~FakeDeviceMemory() {
    for (auto& [address, block] : blocks_) unmap(address, block);
  }

  /// What a client would send for an object of this name.
  static std::array<std::byte, kHandleBytes> handle_of(std::string_view name) {
    std::array<std::byte, kHandleBytes> handle = {};
    std::memcpy(handle.data(), name.data(), std::min(name.size(), handle.size()));
    return handle;
  }
  /// Every copy from now on fails; OK: no longer.
  void fail_copies(Status failure) {
    std::lock_guard lock(mutex_);
    copy_failure_ = std::move(failure);
  }
  /// From now on the device is lost, as after an illegal address. \param device_id  below 64
  void lose(int32_t device_id) noexcept { lost_ |= uint64_t{1} << device_id; }
  /// Copies that were asked for with something in device memory, and their bytes.
  std::pair<uint64_t, uint64_t> copied() const {
    std::lock_guard lock(mutex_);
    return {copies_, copied_bytes_};
  }
  /// Allocations and handles that are not given back.
  size_t live() const {
    std::lock_guard lock(mutex_);
    return blocks_.size();
  }
  /// A buffer with these bytes. Its failures end the test.
  Buffer make(std::string_view bytes, int32_t device_id = 0) {
    Buffer buffer = allocate(bytes.size(), device_id).value();
    require(copy(buffer, host_buffer(const_cast<char*>(bytes.data()), bytes.size())).ok());
    return buffer;
  }
  std::string read(const Buffer& buffer) {
    std::string bytes(buffer.size_bytes, '\0');
    require(copy(host_buffer(bytes.data(), bytes.size()), buffer).ok());
    return bytes;
  }

  // --- Memory ---
  MemoryKind kind() const noexcept override { return MemoryKind::kGpu; }
  uint64_t used_bytes() const noexcept override {
    std::lock_guard lock(mutex_);
    return used_bytes_;
  }
  uint64_t limit_bytes() const noexcept override { return limit_bytes_; }
  std::vector<int32_t> devices() const noexcept override {
    std::vector<int32_t> ids;
    for (int32_t id = 0; id < devices_; ++id) {
      if (!is_lost(id)) ids.push_back(id);
    }
    return ids;
  }

  Result<Buffer> allocate(uint64_t size_bytes, int64_t device_id) noexcept override {
    ATOLL_RETURN_IF_ERROR(check_device(device_id));
    std::lock_guard lock(mutex_);
    return add({.size_bytes = size_bytes, .most_bytes = size_bytes, .device_id = to_id(device_id)}, -1);
  }
  void free(const Buffer& buffer) noexcept override { remove(buffer, Origin::kAllocated); }

  Result<Buffer> allocate_growable(uint64_t size_bytes, uint64_t most_bytes,
                                   int64_t device_id) noexcept override {
    ATOLL_RETURN_IF_ERROR(check_device(device_id));
    if (size_bytes > most_bytes) {
      return invalid_argument(size_bytes, " bytes asked for of at most ", most_bytes);
    }
    std::lock_guard lock(mutex_);
    return add({.size_bytes = size_bytes,
                .most_bytes = most_bytes,
                .device_id = to_id(device_id),
                .origin = Origin::kGrowable},
               -1);
  }
  Status grow(Buffer& buffer, uint64_t size_bytes) noexcept override {
    std::lock_guard lock(mutex_);
    Block& block = block_of(buffer, Origin::kGrowable)->second;
    require(block.size_bytes == buffer.size_bytes);
    if (size_bytes <= block.size_bytes) return {};
    if (size_bytes > block.most_bytes) {
      return make_status(Code::kOutOfRange, size_bytes, " bytes asked for of at most ", block.most_bytes);
    }
    ATOLL_RETURN_IF_ERROR(use(size_bytes - block.size_bytes, block.device_id));
    buffer.size_bytes = block.size_bytes = size_bytes;
    return {};
  }
  void free_growable(const Buffer& buffer) noexcept override { remove(buffer, Origin::kGrowable); }

  /// As if each device had the limit, and all that is in use were on it.
  Result<DeviceMemoryUsage> device_usage(int64_t device_id) noexcept override {
    ATOLL_RETURN_IF_ERROR(check_device(device_id));
    const uint64_t total = limit_bytes_ == 0 ? uint64_t{1} << 40 : limit_bytes_;
    return DeviceMemoryUsage{.total_bytes = total, .free_bytes = total - used_bytes()};
  }

  Status copy(const Buffer& to, const Buffer& from) noexcept override {
    if (from.size_bytes > to.size_bytes) {
      return internal_error("found a buffer of ", to.size_bytes, " bytes, expected ", from.size_bytes);
    }
    if (to.kind != MemoryKind::kGpu && from.kind != MemoryKind::kGpu) {
      return invalid_argument("none of the buffers is in memory of a GPU");
    }
    ATOLL_RETURN_IF_ERROR(wait_until_ready(from));
    for (const Buffer* buffer : {&to, &from}) {
      if (buffer->kind == MemoryKind::kGpu && is_lost(buffer->device_id))
        return check_device(buffer->device_id);
    }
    std::lock_guard lock(mutex_);
    if (!copy_failure_.ok()) return copy_failure_.clone();
    ++copies_;
    copied_bytes_ += from.size_bytes;
    if (from.size_bytes != 0)
      std::memmove(reach(to, from.size_bytes), reach(from, from.size_bytes), from.size_bytes);
    return {};
  }

  Result<Buffer> open_handle(std::span<const std::byte> handle, int64_t device_id,
                             uint64_t size_bytes) noexcept override {
    ATOLL_RETURN_IF_ERROR(check_device(device_id));
    const std::string name = name_in(handle);
    if (name.empty()) return invalid_argument("the handle is none of a GPU's memory");
    const int fd = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
    struct stat about = {};
    if (fd < 0 || fstat(fd, &about) != 0) {
      if (fd >= 0) close(fd);
      return invalid_argument("the handle is none of a GPU's memory");
    }
    Result<Buffer> opened =
        make_status(Code::kOutOfRange, "the allocation has ", about.st_size, " bytes, expected ", size_bytes);
    if (static_cast<uint64_t>(about.st_size) >= size_bytes) {
      std::lock_guard lock(mutex_);
      opened = add({.size_bytes = size_bytes,
                    .most_bytes = size_bytes,
                    .device_id = to_id(device_id),
                    .origin = Origin::kOpened},
                   fd);
    }
    close(fd);
    return opened;
  }
  void close_handle(const Buffer& buffer) noexcept override { remove(buffer, Origin::kOpened); }

 private:
  enum class Origin : uint8_t { kAllocated, kGrowable, kOpened };
  struct Block {
    uint64_t size_bytes = 0;
    uint64_t most_bytes = 0;  ///< that it may grow to
    int32_t device_id = 0;
    Origin origin = Origin::kAllocated;
    uint64_t mapped_bytes = 0;
    void* host = nullptr;  ///< where the bytes really are
  };

  static int32_t to_id(int64_t device_id) noexcept { return static_cast<int32_t>(device_id); }

  static Buffer host_buffer(void* data, uint64_t size_bytes) noexcept {
    Buffer buffer;
    buffer.data = data;
    buffer.size_bytes = size_bytes;
    return buffer;
  }
  static void require(bool holds) noexcept {
    if (!holds) std::abort();
  }
  static std::string name_in(std::span<const std::byte> handle) {
    if (handle.size() != kHandleBytes || handle.back() != std::byte{0}) return {};
    std::string name(reinterpret_cast<const char*>(handle.data()));
    return name.starts_with(kHandlePrefix) && name.find('/', 1) == std::string::npos ? name : std::string();
  }
  static void unmap(uintptr_t address, const Block& block) noexcept {
    munmap(reinterpret_cast<void*>(address), block.mapped_bytes);
    munmap(block.host, block.mapped_bytes);
  }

  bool is_lost(int32_t device_id) const noexcept {
    return device_id >= 0 && device_id < 64 && (lost_ >> device_id & 1) != 0;
  }
  Status check_device(int64_t device_id) const noexcept {
    if (device_id >= 0 && device_id < devices_) {
      return is_lost(to_id(device_id)) ? unavailable("GPU ", device_id, " is lost: it fell off the bus")
                                       : Status();
    }
    return invalid_argument("there is no GPU ", device_id, ", only ", devices_, " from 0 on");
  }
  /// Counts so many bytes more. With the lock held.
  Status use(uint64_t size_bytes, int32_t device_id) noexcept {
    const uint64_t limit = limit_bytes_ == 0 ? uint64_t{1} << 40 : limit_bytes_;
    if (size_bytes > limit || used_bytes_ > limit - size_bytes) {
      return make_status(Code::kResourceExhausted, "GPU ", device_id, ": ", size_bytes, " bytes asked for, ",
                         used_bytes_, " bytes of the limit of ", limit, " bytes are in use");
    }
    used_bytes_ += size_bytes;
    return {};
  }
  /// With the lock held. \param block  where it is not mapped yet \param fd  of the bytes; below 0: new ones
  Result<Buffer> add(Block block, int fd) noexcept {
    ATOLL_RETURN_IF_ERROR(use(block.size_bytes, block.device_id));
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const bool is_possible = block.most_bytes <= uint64_t{1} << 40;
    block.mapped_bytes = std::max(page, (block.most_bytes + page - 1) / page * page);
    void* address = MAP_FAILED;
    block.host = MAP_FAILED;
    if (is_possible) {
      block.host = mmap(nullptr, block.mapped_bytes, PROT_READ | PROT_WRITE,
                        fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED, fd, 0);
      address =
          mmap(nullptr, block.mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (block.host == MAP_FAILED || address == MAP_FAILED) {
      if (block.host != MAP_FAILED) munmap(block.host, block.mapped_bytes);
      if (address != MAP_FAILED) munmap(address, block.mapped_bytes);
      used_bytes_ -= block.size_bytes;
      return make_status(Code::kResourceExhausted, "GPU ", block.device_id, ": the system has no ",
                         block.most_bytes, " bytes");
    }
    blocks_.emplace(reinterpret_cast<uintptr_t>(address), block);
    Buffer buffer = host_buffer(address, block.size_bytes);
    buffer.kind = MemoryKind::kGpu;
    buffer.device_id = block.device_id;
    return buffer;
  }
  /// With the lock held.
  std::map<uintptr_t, Block>::iterator block_of(const Buffer& buffer, Origin origin) noexcept {
    const auto found = blocks_.find(reinterpret_cast<uintptr_t>(buffer.data));
    require(found != blocks_.end() && found->second.origin == origin);
    return found;
  }
  void remove(const Buffer& buffer, Origin origin) noexcept {
    std::lock_guard lock(mutex_);
    const auto found = block_of(buffer, origin);
    used_bytes_ -= found->second.size_bytes;
    unmap(found->first, found->second);
    blocks_.erase(found);
  }
  /// Where the CPU finds a buffer's bytes. With the lock held.
  void* reach(const Buffer& buffer, uint64_t size_bytes) const noexcept {
    if (buffer.kind != MemoryKind::kGpu) return buffer.data;
    const auto address = reinterpret_cast<uintptr_t>(buffer.data);
    auto found = blocks_.upper_bound(address);
    require(found != blocks_.begin());
    --found;
    const Block& block = found->second;
    const uint64_t offset = address - found->first;
    require(offset <= block.size_bytes && size_bytes <= block.size_bytes - offset);
    require(block.device_id == buffer.device_id);
    return static_cast<char*>(block.host) + offset;
  }

  const int32_t devices_;
  const uint64_t limit_bytes_;
  std::atomic<uint64_t> lost_{0};  ///< a bit a device
  mutable std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;  ///< by device address
  uint64_t used_bytes_ = 0;
  uint64_t copies_ = 0;
  uint64_t copied_bytes_ = 0;
  Status copy_failure_;
};

}  // namespace atl::test
