#include "atoll/runtime/memory_reserve.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <vector>

namespace atl::runtime {
namespace {

constexpr size_t kMiB = 1 << 20;

/// From here on the process may map so much more.
[[maybe_unused]] void leave(size_t bytes) {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit wanted{limit, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_AS, &wanted) != 0) std::_Exit(10);
}

[[maybe_unused]] bool can_have(size_t bytes) {
  try {
    delete[] new char[bytes];
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// Whether there was one. Kept, so that no compiler leaves the allocation out.
[[maybe_unused]] bool was_given(void* block) {
  static void* volatile last = nullptr;
  last = block;
  return last != nullptr;
}

/// Small blocks until there is no room for one but in the reserve; they are never given back.
[[maybe_unused]] void use_up() {
  while (memory_reserve_pieces() == kReservePieces) (void)::new char[1000];
}

// A sanitizer has an allocator of its own, which ends the process, and needs terabytes of addresses.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

TEST(MemoryReserve, SmallAllocationsGoOnAndLargeOnesFail) {
  EXPECT_EXIT(
      {
        install_memory_reserve();
        if (memory_reserve_pieces() != kReservePieces) std::_Exit(2);
        leave(kMiB);
        use_up();
        const size_t before = memory_reserve_pieces();
        for (int i = 0; i < 100; ++i) {
          if (can_have(32 * kMiB)) std::_Exit(3);
          if (!can_have(1000)) std::_Exit(4);
        }
        std::_Exit(memory_reserve_pieces() + 2 >= before ? 0 : 5);
      },
      testing::ExitedWithCode(0), "");
}

TEST(MemoryReserve, IsNotForBlocksThatOneRequestNeeds) {
  EXPECT_EXIT(
      {
        install_memory_reserve();
        leave(kMiB);
        use_up();
        const size_t before = memory_reserve_pieces();
        // All kept. A thread's storage and the room above the heap's end may serve some of them.
        int refused = 0;
        for (int i = 0; i < 1000; ++i) refused += !was_given(::malloc(kReserveBlockBytes + 1));
        if (refused < 900) std::_Exit(8);
        std::_Exit(memory_reserve_pieces() == before ? 0 : 9);
      },
      testing::ExitedWithCode(0), "");
}

TEST(MemoryReserve, IsForEveryFunctionThatAllocates) {
  EXPECT_EXIT(
      {
        install_memory_reserve();
        leave(kMiB);
        use_up();
        void* aligned = nullptr;
        volatile size_t too_many = SIZE_MAX / 2;  // volatile: the compiler would warn
        volatile size_t not_a_power = 3;
        for (int i = 0; i < 2000; ++i) {
          if (!was_given(::malloc(1000)) || !was_given(::calloc(10, 100))) std::_Exit(10);
          if (!was_given(::realloc(::malloc(10), 1000)) || !was_given(::aligned_alloc(64, 1024)))
            std::_Exit(11);
          if (::posix_memalign(&aligned, 64, 1000) != 0) std::_Exit(12);
        }
        // What cannot be is refused at once, and takes no piece.
        const size_t before = memory_reserve_pieces();
        if (was_given(::calloc(too_many, 4)) || ::posix_memalign(&aligned, not_a_power, 8) == 0)
          std::_Exit(13);
        std::_Exit(memory_reserve_pieces() == before && before < kReservePieces ? 0 : 14);
      },
      testing::ExitedWithCode(0), "");
}

TEST(MemoryReserve, IsThereAgainWhenThereIsMemory) {
  EXPECT_EXIT(
      {
        install_memory_reserve();
        leave(kMiB);
        use_up();
        leave(64 * kMiB);
        restock_memory_reserve();
        std::_Exit(memory_reserve_pieces() == kReservePieces ? 0 : 6);
      },
      testing::ExitedWithCode(0), "");
}

TEST(MemoryReserve, WithNothingLeftAllocationsFailAsEver) {
  EXPECT_EXIT(
      {
        install_memory_reserve();
        leave(0);
        int failed = 0;
        try {
          while (true) (void)::new char[1000];
        } catch (const std::bad_alloc&) {
          ++failed;
        }
        std::_Exit(failed == 1 && memory_reserve_pieces() == 0 ? 0 : 7);
      },
      testing::ExitedWithCode(0), "");
}

#else

TEST(MemoryReserve, IsThereInAnyBuild) {
  restock_memory_reserve();
  EXPECT_EQ(memory_reserve_pieces(), 0U) << "a program that gives nothing up";
  install_memory_reserve();
  EXPECT_EQ(memory_reserve_pieces(), kReservePieces);
}

#endif

}  // namespace
}  // namespace atl::runtime
