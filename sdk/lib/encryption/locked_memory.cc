#include "atoll/lib/locked_memory.h"

#include <openssl/crypto.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "atoll/core/text.h"

namespace atl {
namespace {

/// The kernel takes no empty mapping, and an empty file is to have an address, too.
size_t mapped_size(size_t bytes) noexcept { return std::max<size_t>(bytes, 1); }

std::string lock_limit() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return cat(
      "; the process may lock ", limit.rlim_cur,
      " bytes (RLIMIT_MEMLOCK): raise that, by LimitMEMLOCK=infinity in a unit of systemd, --ulimit memlock=-1 of "
      "a container, or ulimit -l of a shell");
}

}  // namespace

Result<LockedMemory> LockedMemory::make(size_t bytes, bool lock) noexcept {
  const size_t mapped = mapped_size(bytes);
  void* const begin = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED)
    return make_status(Code::kResourceExhausted, "found no ", bytes,
                       " bytes of memory: ", std::strerror(errno));
  LockedMemory memory;
  memory.begin_ = begin;
  memory.size_ = bytes;
  if (::madvise(begin, mapped, MADV_DONTDUMP) != 0 || ::madvise(begin, mapped, MADV_DONTFORK) != 0)
    return internal_error("memory cannot be kept out of core dumps: ", std::strerror(errno));
  // Not mlock(), which does nothing in builds with sanitizers.
  if (lock && ::mlock2(begin, mapped, 0) != 0) {
    return make_status(Code::kResourceExhausted, "found ", bytes,
                       " bytes of memory that cannot be locked: ", std::strerror(errno), lock_limit());
  }
  return memory;
}

LockedMemory::~LockedMemory() {
  if (begin_ == nullptr) return;
  OPENSSL_cleanse(begin_, size_);
  ::munmap(begin_, mapped_size(size_));
}

}  // namespace atl
