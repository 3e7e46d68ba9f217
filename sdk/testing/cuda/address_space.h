/// Addresses of device memory: reserved, so that no other memory of the process has them, and closed to the CPU, which
/// gets SIGSEGV where it follows one. The bytes lie elsewhere, at a fixed distance.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

namespace atl::cuda_double {

/// With the driver's mutex held, except host() and what says otherwise.
///
/// The bytes are those of one memory file. Other processes find it under /proc while this one lives, and nothing is
/// left of it afterwards.
class AddressSpace {
 public:
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kGranularity = uint64_t{2} << 20;  ///< of memory that is mapped by hand

  /// \param alignment  a power of two \return 0: the system has no more
  uint64_t take(uint64_t size, uint64_t alignment) noexcept;
  /// They show their own bytes, which are gone at once; the addresses are given out again after many others.
  void give_back(uint64_t address, uint64_t size) noexcept;
  /// Whether device memory may have this address, taken or not. [any, once something was taken]
  bool contains(uint64_t address) const noexcept { return address - first_ < size_; }
  /// Where the CPU finds the bytes; of addresses that were taken.
  char* host(uint64_t address) const noexcept { return bytes_ + (address - first_); }
  /// Other bytes behind taken addresses. \param fd  of the file; -1: this space's own
  bool show(uint64_t address, uint64_t size, int fd, uint64_t offset) noexcept;
  /// Their own again.
  bool show_own(uint64_t address, uint64_t size) noexcept;
  /// Where taken addresses lie in the file.
  uint64_t offset(uint64_t address) const noexcept { return address - first_; }
  int file() const noexcept { return file_; }

  /// Marks an allocation as one that other processes may open. \return what they find it by; never 0
  uint64_t announce() noexcept;
  void withdraw(uint64_t announcement) noexcept;
  /// Whether it is still there, in another process's file. [any]
  static bool is_announced(int file, uint64_t announcement) noexcept;

 private:
  static constexpr uint64_t kHeaderBytes = uint64_t{1} << 20;  ///< of the file: announcements
  static constexpr uint64_t kAnnouncements = kHeaderBytes / sizeof(std::atomic<uint64_t>);
  static constexpr uint64_t kQuarantine = uint64_t{8} << 30;

  bool reserve() noexcept;
  uint64_t find(uint64_t size, uint64_t alignment) noexcept;
  void reuse_oldest() noexcept;

  int file_ = -1;
  uint64_t first_ = 0;
  uint64_t size_ = 0;
  char* bytes_ = nullptr;
  std::map<uint64_t, uint64_t> free_;  ///< sizes by address; neighbours are joined
  struct Range {
    uint64_t address;
    uint64_t size;
  };
  std::deque<Range> quarantine_;
  uint64_t quarantined_ = 0;
  uint64_t last_announcement_ = 0;
};

}  // namespace atl::cuda_double
