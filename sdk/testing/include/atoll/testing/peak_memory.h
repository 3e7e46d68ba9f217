/// How much memory something takes while it runs.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>

#include "atoll/testing/sanitized.h"

namespace atl::test {

/// A line of /proc/self/status, "VmHWM:", in bytes; 0 if there is none.
inline uint64_t own_memory_bytes(const std::string& line) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char text[256];
  unsigned long long kibibytes = 0;
  while (file != nullptr && std::fgets(text, sizeof text, file) != nullptr) {
    if (std::string(text).starts_with(line)) std::sscanf(text + line.size(), "%llu", &kibibytes);
  }
  if (file != nullptr) std::fclose(file);
  return kibibytes * 1024;
}

/// The most by which resident memory grows while `work` runs; exact to some hundred KiB. The work is done in
/// a child process, where nothing that earlier work has freed is used again unseen. Not with other threads.
/// \returns UINT64_MAX if the child did not come to its end or the system does not say
inline uint64_t peak_growth_bytes(const std::function<void()>& work) {
  constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();
  int ends[2];
  if (pipe(ends) != 0) return kUnknown;
  const pid_t child = fork();
  if (child == 0) {
    // What a huge page has beyond what was asked for is the system's choice.
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    // Large blocks are the system's own and grow without being copied, as in a process that has not freed larger
    // ones: else the figure would depend on what ran before, and even on the environment.
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    malloc_trim(0);
    if (std::FILE* peak = std::fopen("/proc/self/clear_refs", "w"); peak != nullptr) {
      std::fputs("5", peak);  // the peak is counted from here on
      std::fclose(peak);
    }
    const uint64_t before = own_memory_bytes("VmRSS:");
    work();
    const uint64_t peak = own_memory_bytes("VmHWM:");
    const uint64_t grown = before == 0 ? kUnknown : peak > before ? peak - before : 0;
    _exit(write(ends[1], &grown, sizeof grown) == sizeof grown ? 0 : 1);
  }
  close(ends[1]);
  uint64_t grown = kUnknown;
  if (child < 0 || read(ends[0], &grown, sizeof grown) != sizeof grown) grown = kUnknown;
  close(ends[0]);
  int status = 0;
  if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) grown = kUnknown;
  return grown;
}

/// For EXPECT_TRUE: `work` runs, and takes no more memory than that, by peak_growth_bytes(). Under a
/// sanitizer it only runs: the sanitizer's shadow, and the freed memory that it keeps, would be part of the
/// figure.
inline ::testing::AssertionResult grows_at_most(uint64_t most_bytes, const std::function<void()>& work) {
  const uint64_t grown = peak_growth_bytes(work);
  if (kSanitized || grown <= most_bytes) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "grew by " << grown << " bytes, expected at most " << most_bytes;
}

}  // namespace atl::test
