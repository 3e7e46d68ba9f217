/// How much memory this process has, and how to say it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/text.h"

namespace atl {

/// Of the whole process, in bytes; 0: the system does not tell. [any] Reads /proc: not on the request path.
inline uint64_t resident_bytes() noexcept {
  int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[128];
  ssize_t count = ::read(file, text, sizeof text);
  ::close(file);
  if (count <= 0) return 0;
  std::string_view rest(text, static_cast<size_t>(count));
  rest.remove_prefix(std::min(rest.find(' ') + 1, rest.size()));  // the first number is the address space
  uint64_t pages = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), pages);
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// "12.5 MiB", "300 bytes"
inline std::string size_text(uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return cat(bytes, bytes == 1 ? " byte" : " bytes");
  size_t unit = 0;
  while (unit < 5 && bytes >= uint64_t{1024} * 1024) {
    bytes /= 1024;
    ++unit;
  }
  return cat(bytes / 1024, ".", bytes % 1024 * 10 / 1024, " ", kUnits[unit]);
}

}  // namespace atl
