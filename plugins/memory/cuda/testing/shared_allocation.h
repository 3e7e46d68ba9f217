/// Device memory of another process, for unit tests.
#pragma once

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "atoll/core/file_descriptor.h"

extern char** environ;

namespace atl::test {

/// Lives as long as that process, which ends with this object.
class SharedAllocation {
 public:
  /// Zeros. Failures end the test.
  explicit SharedAllocation(uint64_t size_bytes) {
    int in[2], out[2];
    require(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    FileDescriptor child_in(in[0]), child_out(out[1]), from(out[0]);
    keep_ = FileDescriptor(in[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::string program = ATOLL_CUDA_OWNER, driver = ATOLL_CUDA_DOUBLE_PATH,
                size = std::to_string(size_bytes);
    char* arguments[] = {program.data(), driver.data(), size.data(), nullptr};
    require(posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    child_out = FileDescriptor();
    handle_.resize(64);
    for (size_t got = 0; got < handle_.size();) {
      const ssize_t count = read(from.get(), handle_.data() + got, handle_.size() - got);
      require(count > 0);
      got += static_cast<size_t>(count);
    }
  }
  SharedAllocation(const SharedAllocation&) = delete;
  SharedAllocation& operator=(const SharedAllocation&) = delete;
  ~SharedAllocation() {
    keep_ = FileDescriptor();
    waitpid(process_, nullptr, 0);
  }
  const std::vector<std::byte>& handle() const noexcept { return handle_; }

 private:
  static void require(bool holds) noexcept {
    if (!holds) std::abort();
  }

  FileDescriptor keep_;
  pid_t process_ = 0;
  std::vector<std::byte> handle_;
};

}  // namespace atl::test
