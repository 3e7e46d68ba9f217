#include "security/model_keys/memory_room.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

namespace atl::model_keys {
namespace {

constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

std::string text_of(const char* path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

uint64_t number_at(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? number : kUnknown;
}

}  // namespace

uint64_t available_memory(std::string_view meminfo) noexcept {
  constexpr std::string_view kName = "MemAvailable:";
  const size_t at = meminfo.find(kName);
  if (at == std::string_view::npos) return kUnknown;
  const uint64_t kilobytes = number_at(meminfo.substr(at + kName.size()));
  return kilobytes > (kUnknown >> 10) ? kUnknown : kilobytes << 10;
}

uint64_t group_memory(std::string_view memory_max) noexcept { return number_at(memory_max); }

Status check_memory_room(uint64_t bytes) noexcept {
  const uint64_t room = std::min(available_memory(text_of("/proc/meminfo")),
                                 group_memory(text_of("/sys/fs/cgroup/memory.max")));
  if (bytes <= room) return {};
  return make_status(Code::kResourceExhausted, "needs ", bytes, " bytes of memory to be decrypted, found ",
                     room);
}

}  // namespace atl::model_keys
