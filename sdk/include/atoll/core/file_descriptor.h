/// A file descriptor with an owner, for files, sockets, pipes and whatever else open(2) and its
/// like give.
///
///     FileDescriptor file(::open(path, O_RDONLY | O_CLOEXEC));
///     if (!file.valid()) return unavailable(path, ": ", std::strerror(errno));
///     const ssize_t size = ::read(file.get(), bytes, sizeof bytes);
#pragma once

#include <unistd.h>

#include <utility>

namespace atl {

/// Owns one descriptor, and closes it when this object is destroyed or gets another one. A negative
/// number, as a failed open() returns, stands for no descriptor. What close(2) returns is dropped:
/// whoever has to know whether written bytes arrived calls fsync(2) before. Movable, not copyable.
/// Not for two threads at a time.
class FileDescriptor {
 public:
  /// No descriptor.
  FileDescriptor() noexcept = default;
  /// Takes the descriptor over: nobody else closes it from now on.
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  /// The other one has no descriptor afterwards. Assignment closes the descriptor that was here
  /// before.
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    FileDescriptor former(std::exchange(fd_, other.release()));
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  /// Whether there is a descriptor. A number that somebody else has closed is valid, too.
  bool valid() const noexcept { return fd_ >= 0; }
  /// For calls of the system. The descriptor stays this object's.
  int get() const noexcept { return fd_; }
  /// Gives the descriptor to the caller, who closes it from now on. -1 if there is none.
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  /// Negative: there is no descriptor.
  int fd_ = -1;
};

}  // namespace atl
