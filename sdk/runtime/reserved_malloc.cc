/// The C library's allocation functions with the memory reserve behind them. A program's own functions come before those of its
/// libraries, so that all of the process, plugins and libraries too, allocates by these. `operator new` throws where malloc() fails, but
/// most of what must not fail is not C++: the C library ends the process when a new thread has no memory for the thread-local variables
/// of a plugin.
#include <dlfcn.h>
#include <stdlib.h>

#include <atomic>
#include <cerrno>

#include "atoll/runtime/memory_reserve.h"

// A sanitizer has functions of its own in this place.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

/// The function that the program would have without this file: the C library's, or of an allocator that was put before it
/// (LD_PRELOAD). Its free() is the process's, so that only its blocks may be handed out.
template <class Function>
class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}

  template <class... Arguments>
  auto operator()(Arguments... arguments) noexcept {
    Function* function = function_.load(std::memory_order_relaxed);
    return (function != nullptr ? function : find())(arguments...);
  }

  Function* find() noexcept {
    auto* function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
    if (function == nullptr) ::abort();
    function_.store(function, std::memory_order_relaxed);
    return function;
  }

 private:
  const char* const name_;
  std::atomic<Function*> function_{nullptr};
};

constinit Next<void*(size_t)> next_malloc("malloc");
constinit Next<void*(size_t, size_t)> next_calloc("calloc");
constinit Next<void*(void*, size_t)> next_realloc("realloc");
constinit Next<void*(size_t, size_t)> next_aligned_alloc("aligned_alloc");
constinit Next<int(void**, size_t, size_t)> next_posix_memalign("posix_memalign");

/// Called before the constructors of all libraries. The loader itself allocates while it opens a library, and dlsym() must not be called
/// in the middle of that. What allocates earlier opens none.
void find_all() {
  next_malloc.find();
  next_calloc.find();
  next_realloc.find();
  next_aligned_alloc.find();
  next_posix_memalign.find();
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const find_all_first)() = &find_all;

/// Whether to try once more for a block of so many bytes.
bool makes_room(size_t bytes) noexcept {
  return bytes <= atl::runtime::kReserveBlockBytes && atl::runtime::give_up_reserve_piece();
}

}  // namespace

#define ATOLL_OF_THE_PROCESS extern "C" __attribute__((visibility("default")))

ATOLL_OF_THE_PROCESS void* malloc(size_t bytes) noexcept {
  while (true) {
    void* block = next_malloc(bytes);
    if (block != nullptr || !makes_room(bytes)) return block;
  }
}

ATOLL_OF_THE_PROCESS void* calloc(size_t count, size_t bytes) noexcept {
  size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) return next_calloc(count, bytes);
  while (true) {
    void* block = next_calloc(count, bytes);
    if (block != nullptr || !makes_room(all)) return block;
  }
}

ATOLL_OF_THE_PROCESS void* realloc(void* old, size_t bytes) noexcept {
  while (true) {
    void* block = next_realloc(old, bytes);
    if (block != nullptr || bytes == 0 || !makes_room(bytes)) return block;
  }
}

ATOLL_OF_THE_PROCESS void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  while (true) {
    void* block = next_aligned_alloc(alignment, bytes);
    if (block != nullptr || errno != ENOMEM || !makes_room(bytes)) return block;
  }
}

ATOLL_OF_THE_PROCESS int posix_memalign(void** block, size_t alignment, size_t bytes) noexcept {
  while (true) {
    const int error = next_posix_memalign(block, alignment, bytes);
    if (error != ENOMEM || !makes_room(bytes)) return error;
  }
}

#endif
