#include "atoll/runtime/memory_map.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>

namespace atl::runtime {
namespace {

// Calls visit(begin, end, file) for every mapping until it returns true.
template <class Visit>
bool any_mapping(Visit&& visit) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char device[32];
    uint64_t inode = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %*s %31s %" SCNu64, &begin, &end, device,
                    &inode) != 4) {
      continue;
    }
    if (inode != 0 && visit(begin, end, std::string(device) + " " + std::to_string(inode))) return true;
  }
  return false;
}

}  // namespace

std::optional<MappedFile> mapped_file_at(const void* address) {
  auto wanted = reinterpret_cast<uintptr_t>(address);
  std::optional<MappedFile> found;
  any_mapping([&](uintptr_t begin, uintptr_t end, MappedFile file) {
    if (wanted < begin || wanted >= end) return false;
    found = std::move(file);
    return true;
  });
  return found;
}

bool is_mapped(const MappedFile& file) {
  return any_mapping([&](uintptr_t, uintptr_t, const MappedFile& mapped) { return mapped == file; });
}

}  // namespace atl::runtime
