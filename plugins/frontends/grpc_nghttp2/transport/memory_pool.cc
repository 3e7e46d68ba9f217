#include "frontends/grpc_nghttp2/transport/memory_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace atl::frontends::grpc_nghttp2 {
namespace {

MemoryPool& pool(void* user) noexcept { return *static_cast<MemoryPool*>(user); }

void* allocate_zeroed(MemoryPool& from, size_t count, size_t bytes) noexcept {
  if (bytes != 0 && count > SIZE_MAX / bytes) return nullptr;
  void* memory = from.allocate(count * bytes);
  if (memory != nullptr) std::memset(memory, 0, count * bytes);
  return memory;
}

}  // namespace

FrameBuffers::~FrameBuffers() {
  for (void* region : regions_) ::munmap(region, kRegionBytes);
}

void* FrameBuffers::take() noexcept {
  if (free_.empty()) {
    try {
      regions_.reserve(regions_.size() + 1);
      free_.reserve((regions_.size() + 1) * kPiecesOfRegion);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    void* region = ::mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED) return nullptr;
    // Small pages: the rest of a large one would be taken with the first byte.
    (void)::madvise(region, kRegionBytes, MADV_NOHUGEPAGE);
    regions_.push_back(region);
    for (size_t i = kPiecesOfRegion; i-- > 0;) free_.push_back(static_cast<uint8_t*>(region) + i * kBytes);
  }
  void* piece = free_.back();
  free_.pop_back();
  return piece;
}

void FrameBuffers::give(void* piece) noexcept {
  (void)::madvise(piece, kBytes, MADV_DONTNEED);
  free_.push_back(piece);
}

MemoryPool::MemoryPool() noexcept {
  functions_.mem_user_data = this;
  functions_.malloc = [](size_t bytes, void* user) { return pool(user).allocate(bytes); };
  functions_.free = [](void* memory, void* user) { pool(user).free(memory); };
  functions_.calloc = [](size_t count, size_t bytes, void* user) {
    return allocate_zeroed(pool(user), count, bytes);
  };
  functions_.realloc = [](void* memory, size_t bytes, void* user) {
    return pool(user).reallocate(memory, bytes);
  };
}

MemoryPool::~MemoryPool() {
  for (Free* list : kept_) {
    while (list != nullptr) std::free(reinterpret_cast<Head*>(std::exchange(list, list->next)) - 1);
  }
}

void* MemoryPool::allocate(size_t bytes) noexcept {
  size_t size = 0;
  size_t room = bytes;
  if (bytes <= kSmallest << (kSizes - 1)) {
    room = std::bit_ceil(std::max(bytes, kSmallest));
    size = static_cast<size_t>(std::countr_zero(room) - std::countr_zero(kSmallest));
    if (Free* kept = kept_[size]; kept != nullptr) {
      kept_[size] = kept->next;
      --count_[size];
      return kept;
    }
  } else {
    const bool is_frame_buffer = bytes >= kLeastFrameBuffer && bytes <= FrameBuffers::kBytes - sizeof(Head);
    size = is_frame_buffer ? kFrameBuffer : kOther;
    if (is_frame_buffer) room = FrameBuffers::kBytes - sizeof(Head);
    if (bytes > SIZE_MAX - sizeof(Head)) return nullptr;
  }
  auto* head =
      static_cast<Head*>(size == kFrameBuffer ? frame_buffers_.take() : std::malloc(sizeof(Head) + room));
  if (head == nullptr) return nullptr;
  *head = {room, size};
  return head + 1;
}

void MemoryPool::free(void* memory) noexcept {
  if (memory == nullptr) return;
  Head* head = static_cast<Head*>(memory) - 1;
  if (head->size == kFrameBuffer) return frame_buffers_.give(head);
  if (head->size == kOther || count_[head->size] >= kMostKept) return std::free(head);
  kept_[head->size] = new (memory) Free{kept_[head->size]};
  ++count_[head->size];
}

void* MemoryPool::reallocate(void* memory, size_t bytes) noexcept {
  if (memory == nullptr) return allocate(bytes);
  const size_t room = (static_cast<Head*>(memory) - 1)->bytes;
  if (bytes <= room) return memory;
  void* larger = allocate(bytes);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, memory, room);
  free(memory);
  return larger;
}

}  // namespace atl::frontends::grpc_nghttp2
