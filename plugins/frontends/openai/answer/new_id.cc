#include "frontends/openai/answer/new_id.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <random>

#include "atoll/core/text.h"

namespace atl::frontends::openai {

std::string new_id(std::string_view prefix) {
  // One random number a process, and a counter: unique, and without a lock.
  static const uint64_t process = [] {
    std::random_device device;
    return static_cast<uint64_t>(device()) << 32 | device();
  }();
  static std::atomic<uint64_t> next{0};
  const uint64_t parts[] = {process, next.fetch_add(1, std::memory_order_relaxed)};
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%08llx", static_cast<unsigned long long>(parts[0]),
                static_cast<unsigned long long>(parts[1]));
  return cat(prefix, text);
}

}  // namespace atl::frontends::openai
