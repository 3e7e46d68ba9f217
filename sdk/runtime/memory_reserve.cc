#include "atoll/runtime/memory_reserve.h"

#include <sys/mman.h>

#include <array>
#include <atomic>

namespace atl::runtime {
namespace {

constinit std::array<std::atomic<void*>, kReservePieces> pieces{};
constinit std::atomic<size_t> have{0};
/// A program that gives nothing up has no use for the addresses.
constinit std::atomic<bool> installed{false};

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

}  // namespace

void install_memory_reserve() noexcept {
  installed.store(true);
  restock_memory_reserve();
}

void restock_memory_reserve() noexcept {
  if (!installed.load(std::memory_order_relaxed)) return;
  while (have.load(std::memory_order_relaxed) < kReservePieces && take_one()) {
  }
}

bool give_up_reserve_piece() noexcept {
  for (std::atomic<void*>& piece : pieces) {
    void* mapped = piece.exchange(nullptr);
    if (mapped == nullptr) continue;
    have.fetch_sub(1);
    ::munmap(mapped, kReservePieceBytes);
    return true;
  }
  return false;
}

size_t memory_reserve_pieces() noexcept { return have.load(); }

}  // namespace atl::runtime
