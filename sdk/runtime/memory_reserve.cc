#include "atoll/runtime/memory_reserve.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <new>

namespace atl::runtime {
namespace {

constinit std::array<std::atomic<void*>, kReservePieces> pieces{};
constinit std::atomic<size_t> have{0};
/// This thread was given a piece by its last call, and nobody is known to have used it.
constinit thread_local bool was_given = false;

bool take_one() noexcept {
  void* mapped =
      ::mmap(nullptr, kReservePieceBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  for (std::atomic<void*>& piece : pieces) {
    void* nothing = nullptr;
    if (!piece.compare_exchange_strong(nothing, mapped)) continue;
    have.fetch_add(1);
    return true;
  }
  ::munmap(mapped, kReservePieceBytes);
  return false;
}

bool give_one() noexcept {
  for (std::atomic<void*>& piece : pieces) {
    void* mapped = piece.exchange(nullptr);
    if (mapped == nullptr) continue;
    have.fetch_sub(1);
    ::munmap(mapped, kReservePieceBytes);
    return true;
  }
  return false;
}

/// Called again and again by one `operator new` until there is enough. If the piece of the last call can be had again, then what was
/// asked for is more than that, and is not to use up the whole reserve.
void on_exhausted() {
  if (was_given && take_one()) {
    was_given = false;
    throw std::bad_alloc();
  }
  was_given = give_one();
  if (!was_given) throw std::bad_alloc();
}

}  // namespace

void install_memory_reserve() noexcept {
  restock_memory_reserve();
  std::set_new_handler(&on_exhausted);
}

void restock_memory_reserve() noexcept {
  while (have.load(std::memory_order_relaxed) < kReservePieces && take_one()) {
  }
}

size_t memory_reserve_pieces() noexcept { return have.load(); }

}  // namespace atl::runtime
