#include "frontends/grpc_nghttp2/transport/memory_pool.h"

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
    size = kSizes;
    if (bytes > SIZE_MAX - sizeof(Head)) return nullptr;
  }
  auto* head = static_cast<Head*>(std::malloc(sizeof(Head) + room));
  if (head == nullptr) return nullptr;
  *head = {room, size};
  return head + 1;
}

void MemoryPool::free(void* memory) noexcept {
  if (memory == nullptr) return;
  Head* head = static_cast<Head*>(memory) - 1;
  if (head->size == kSizes || count_[head->size] >= kMostKept) return std::free(head);
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
