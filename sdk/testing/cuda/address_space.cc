#include "address_space.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace atl::cuda_double {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 40;
constexpr uint64_t kLeastBytes = uint64_t{1} << 34;  // sanitizers leave less room

uint64_t round_up(uint64_t size, uint64_t unit) noexcept { return (size + unit - 1) / unit * unit; }

void unmap(void* address, uint64_t size) noexcept {
  if (address != MAP_FAILED) munmap(address, size);
}

std::atomic<uint64_t>& slot(const char* header, uint64_t announcement, uint64_t slots) noexcept {
  auto* all = reinterpret_cast<std::atomic<uint64_t>*>(const_cast<char*>(header));
  return all[announcement % slots];
}

}  // namespace

bool AddressSpace::reserve() noexcept {
  const int file = memfd_create("device memory", MFD_CLOEXEC);
  if (file < 0) return false;
  for (uint64_t size = kMostBytes; size >= kLeastBytes; size /= 2) {
    if (ftruncate(file, static_cast<off_t>(size)) != 0) continue;
    void* closed = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void* bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (closed != MAP_FAILED && bytes != MAP_FAILED) {
      madvise(bytes, size, MADV_DONTDUMP);
      file_ = file;
      first_ = reinterpret_cast<uint64_t>(closed);
      size_ = size;
      bytes_ = static_cast<char*>(bytes);
      const uint64_t begin = round_up(first_ + kHeaderBytes, kGranularity);
      free_.emplace(begin, first_ + size - begin);
      return true;
    }
    unmap(closed, size);
    unmap(bytes, size);
  }
  close(file);
  return false;
}

uint64_t AddressSpace::take(uint64_t size, uint64_t alignment) noexcept {
  if (file_ < 0 && !reserve()) return 0;
  if (size > kMostBytes) return 0;
  alignment = std::max(alignment, kPage);
  size = round_up(std::max<uint64_t>(size, 1), kPage);
  uint64_t address = find(size, alignment);
  while (address == 0 && !quarantine_.empty()) {
    reuse_oldest();
    address = find(size, alignment);
  }
  return address;
}

uint64_t AddressSpace::find(uint64_t size, uint64_t alignment) noexcept {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const uint64_t begin = it->first;
    const uint64_t end = begin + it->second;
    const uint64_t address = round_up(begin, alignment);
    if (address > end || end - address < size) continue;
    free_.erase(it);
    if (address > begin) free_.emplace(begin, address - begin);
    if (end > address + size) free_.emplace(address + size, end - address - size);
    return address;
  }
  return 0;
}

void AddressSpace::give_back(uint64_t address, uint64_t size) noexcept {
  size = round_up(std::max<uint64_t>(size, 1), kPage);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset(address)),
            static_cast<off_t>(size));
  quarantine_.push_back({address, size});
  quarantined_ += size;
  while (quarantined_ > kQuarantine) reuse_oldest();
}

void AddressSpace::reuse_oldest() noexcept {
  Range range = quarantine_.front();
  quarantine_.pop_front();
  quarantined_ -= range.size;
  auto after = free_.lower_bound(range.address);
  if (after != free_.end() && after->first == range.address + range.size) {
    range.size += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == range.address) {
      before->second += range.size;
      return;
    }
  }
  free_.emplace(range.address, range.size);
}

bool AddressSpace::show(uint64_t address, uint64_t size, int fd, uint64_t offset) noexcept {
  return mmap(host(address), round_up(size, kPage), PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd < 0 ? file_ : fd,
              static_cast<off_t>(offset)) != MAP_FAILED;
}

bool AddressSpace::show_own(uint64_t address, uint64_t size) noexcept {
  return show(address, size, file_, offset(address));
}

uint64_t AddressSpace::announce() noexcept {
  ++last_announcement_;
  slot(bytes_, last_announcement_, kAnnouncements).store(last_announcement_);
  return last_announcement_;
}

void AddressSpace::withdraw(uint64_t announcement) noexcept {
  slot(bytes_, announcement, kAnnouncements).compare_exchange_strong(announcement, 0);
}

bool AddressSpace::is_announced(int file, uint64_t announcement) noexcept {
  void* header = mmap(nullptr, kHeaderBytes, PROT_READ, MAP_SHARED, file, 0);
  if (header == MAP_FAILED) return false;
  const bool is_there =
      announcement != 0 &&
      slot(static_cast<const char*>(header), announcement, kAnnouncements).load() == announcement;
  munmap(header, kHeaderBytes);
  return is_there;
}

}  // namespace atl::cuda_double
