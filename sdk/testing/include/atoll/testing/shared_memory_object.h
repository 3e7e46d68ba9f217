/// A shared memory object as a client makes it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include "atoll/core/text.h"

namespace atl::test {

/// Bytes of a page of memory.
inline uint64_t page() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

/// Mapped by the test, removed at its end.
class TestObject {
 public:
  explicit TestObject(uint64_t size_bytes) : size_bytes_(size_bytes) {
    static int count = 0;
    key_ = cat("/atoll-test-", getpid(), "-", ++count);
    fd_ = shm_open(key_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    EXPECT_GE(fd_, 0);
    resize(size_bytes);
    data_ = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    EXPECT_NE(data_, MAP_FAILED);
  }
  TestObject(const TestObject&) = delete;
  TestObject& operator=(const TestObject&) = delete;
  ~TestObject() {
    munmap(data_, size_bytes_);
    close(fd_);
    shm_unlink(key_.c_str());
  }
  const std::string& key() const { return key_; }
  int fd() const { return fd_; }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  void resize(uint64_t size_bytes) { EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(size_bytes)), 0); }
  /// How often this process has mapped the object, the test's own mapping not counted.
  int mappings() const {
    std::ifstream maps("/proc/self/maps");
    int count = -1;
    for (std::string line; std::getline(maps, line);) {
      if (line.ends_with("/dev/shm" + key_)) ++count;
    }
    return count;
  }

 private:
  std::string key_;
  uint64_t size_bytes_;
  int fd_ = -1;
  void* data_ = nullptr;
};

}  // namespace atl::test
