#include "atoll/triton/cache.h"

#include <cstring>
#include <mutex>

#include "atoll/triton/buffer_attributes.h"
#include "backend/cell_pool.h"
#include "error.h"

namespace {

enum class Owner : uint32_t { kNobody, kProgram, kInsertion, kLookUp };

struct EntryBuffer {
  void* base;
  uint64_t size_bytes;  ///< in an insertion of what is to be kept; the memory may be larger
  atl::MemoryKind kind;
  int64_t device_id;
};

}  // namespace

struct TRITONCACHE_CacheEntry {
  std::mutex mutex;  ///< of what follows
  Owner owner = Owner::kNobody;
  std::vector<EntryBuffer> buffers;

  TRITONCACHE_CacheEntry* next_free = nullptr;
  uint32_t shard = 0;
};

struct TRITONCACHE_Allocator {
  std::mutex mutex;
  atl::triton::CacheCall* call = nullptr;  ///< null: it has ended

  TRITONCACHE_Allocator* next_free = nullptr;
  uint32_t shard = 0;
};

namespace atl::triton {
namespace {

constinit CellPool<TRITONCACHE_CacheEntry> entries;
constinit CellPool<TRITONCACHE_Allocator> allocators;

TRITONCACHE_CacheEntry* take_entry(Owner owner) noexcept {
  TRITONCACHE_CacheEntry& entry = entries.take();
  std::lock_guard lock(entry.mutex);
  entry.owner = owner;
  return &entry;
}

void give_back_entry(TRITONCACHE_CacheEntry& entry) noexcept {
  {
    std::lock_guard lock(entry.mutex);
    entry.owner = Owner::kNobody;
    entry.buffers.clear();
  }
  entries.give_back(entry);
}

TRITONSERVER_Error* ended(const char* function, const char* what) noexcept {
  return invalid_argument(function, ": the ", what,
                          " is no longer the caller's: its call has ended, or it was deleted");
}

TRITONSERVER_Error* no_such_buffer(const char* function, size_t index, size_t count) noexcept {
  return invalid_argument(function, ": buffer ", index, " does not exist, the entry has ", count);
}

/// What a cache may say of its memory.
TRITONSERVER_Error* check_memory(const char* function,
                                 const TRITONSERVER_BufferAttributes& attributes) noexcept {
  if (attributes.kind == MemoryKind::kGpu) {
    return invalid_argument(function,
                            ": the buffer is in memory of a GPU; caches keep answers in memory of the CPU");
  }
  if (attributes.size_bytes == 0) return invalid_argument(function, ": the buffer has no bytes");
  return nullptr;
}

}  // namespace

CacheCall::CacheCall(bool is_insertion, std::string_view bytes)
    : is_insertion_(is_insertion),
      bytes_(bytes),
      entry_(take_entry(is_insertion ? Owner::kInsertion : Owner::kLookUp)),
      allocator_(&allocators.take()) {
  {
    std::lock_guard lock(entry_->mutex);
    if (is_insertion) entry_->buffers.push_back({nullptr, bytes.size(), MemoryKind::kCpu, 0});
  }
  std::lock_guard lock(allocator_->mutex);
  allocator_->call = this;
}

CacheCall::~CacheCall() { end(); }

void CacheCall::end() noexcept {
  if (allocator_ == nullptr) return;
  {
    std::lock_guard lock(allocator_->mutex);
    allocator_->call = nullptr;
  }
  allocators.give_back(*std::exchange(allocator_, nullptr));
  give_back_entry(*std::exchange(entry_, nullptr));
}

/// With the allocator's lock.
TRITONSERVER_Error* CacheCall::copy() {
  std::lock_guard lock(entry_->mutex);
  copied_ = false;
  if (!is_insertion_) {
    received_.clear();
    for (const EntryBuffer& buffer : entry_->buffers) {
      received_.emplace_back(static_cast<const char*>(buffer.base), buffer.size_bytes);
    }
  } else {
    void* base = entry_->buffers.front().base;
    if (base == nullptr) return invalid_argument("TRITONCACHE_Copy: buffer 0 has no memory: set it before");
    std::memcpy(base, bytes_.data(), bytes_.size());
  }
  copied_ = true;
  return nullptr;
}

}  // namespace atl::triton

using namespace atl::triton;

TRITONSERVER_Error* TRITONCACHE_ApiVersion(uint32_t* major, uint32_t* minor) {
  if (any_null(major, minor)) return null_argument(__func__);
  *major = TRITONCACHE_API_VERSION_MAJOR;
  *minor = TRITONCACHE_API_VERSION_MINOR;
  return nullptr;
}

TRITONSERVER_Error* TRITONCACHE_CacheEntryNew(TRITONCACHE_CacheEntry** entry) {
  if (entry == nullptr) return null_argument(__func__);
  *entry = take_entry(Owner::kProgram);
  return nullptr;
}

TRITONSERVER_Error* TRITONCACHE_CacheEntryDelete(TRITONCACHE_CacheEntry* entry) {
  if (entry == nullptr) return null_argument(__func__);
  {
    std::lock_guard lock(entry->mutex);
    if (entry->owner == Owner::kNobody) return ended(__func__, "entry");
    if (entry->owner != Owner::kProgram) return invalid_argument(__func__, ": the entry is the server's");
    entry->owner = Owner::kNobody;  // whoever deletes it too is told so
    entry->buffers.clear();
  }
  entries.give_back(*entry);
  return nullptr;
}

TRITONSERVER_Error* TRITONCACHE_CacheEntryBufferCount(TRITONCACHE_CacheEntry* entry, size_t* count) {
  if (any_null(entry, count)) return null_argument(__func__);
  std::lock_guard lock(entry->mutex);
  if (entry->owner == Owner::kNobody) return ended(__func__, "entry");
  *count = entry->buffers.size();
  return nullptr;
}

TRITONSERVER_Error* TRITONCACHE_CacheEntryAddBuffer(TRITONCACHE_CacheEntry* entry, void* base,
                                                    TRITONSERVER_BufferAttributes* buffer_attributes) {
  if (any_null(entry, base, buffer_attributes)) return null_argument(__func__);
  const TRITONSERVER_BufferAttributes& attributes = *buffer_attributes;
  if (TRITONSERVER_Error* error = check_memory(__func__, attributes); error != nullptr) return error;
  const char* function = __func__;
  return guarded([&]() -> TRITONSERVER_Error* {
    std::lock_guard lock(entry->mutex);
    if (entry->owner == Owner::kNobody) return ended(function, "entry");
    if (entry->owner == Owner::kInsertion) {
      return invalid_argument(function, ": the entry is to be kept as it is; its buffers are set");
    }
    entry->buffers.push_back({base, attributes.size_bytes, attributes.kind, attributes.device_id});
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONCACHE_CacheEntryGetBuffer(TRITONCACHE_CacheEntry* entry, size_t index, void** base,
                                                    TRITONSERVER_BufferAttributes* buffer_attributes) {
  if (any_null(entry, base, buffer_attributes)) return null_argument(__func__);
  std::lock_guard lock(entry->mutex);
  if (entry->owner == Owner::kNobody) return ended(__func__, "entry");
  if (index >= entry->buffers.size()) return no_such_buffer(__func__, index, entry->buffers.size());
  const EntryBuffer& buffer = entry->buffers[index];
  *base = buffer.base;
  buffer_attributes->size_bytes = buffer.size_bytes;
  buffer_attributes->kind = buffer.kind;
  buffer_attributes->device_id = buffer.device_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONCACHE_CacheEntrySetBuffer(TRITONCACHE_CacheEntry* entry, size_t index,
                                                    void* new_base,
                                                    TRITONSERVER_BufferAttributes* buffer_attributes) {
  if (any_null(entry, new_base)) return null_argument(__func__);
  if (buffer_attributes != nullptr) {
    if (TRITONSERVER_Error* error = check_memory(__func__, *buffer_attributes); error != nullptr)
      return error;
  }
  std::lock_guard lock(entry->mutex);
  if (entry->owner == Owner::kNobody) return ended(__func__, "entry");
  if (index >= entry->buffers.size()) return no_such_buffer(__func__, index, entry->buffers.size());
  EntryBuffer& buffer = entry->buffers[index];
  if (buffer_attributes != nullptr) {
    if (buffer_attributes->size_bytes < buffer.size_bytes) {
      return invalid_argument(__func__, ": buffer ", index, " needs ", buffer.size_bytes,
                              " bytes, there are ", buffer_attributes->size_bytes);
    }
    buffer.kind = buffer_attributes->kind;
    buffer.device_id = buffer_attributes->device_id;
  }
  buffer.base = new_base;
  return nullptr;
}

TRITONSERVER_Error* TRITONCACHE_Copy(TRITONCACHE_Allocator* allocator, TRITONCACHE_CacheEntry* entry) {
  if (any_null(allocator, entry)) return null_argument(__func__);
  const char* function = __func__;
  return guarded([&]() -> TRITONSERVER_Error* {
    std::lock_guard lock(allocator->mutex);
    if (allocator->call == nullptr) return ended(function, "allocator");
    if (allocator->call->entry() != entry)
      return invalid_argument(function, ": the entry is not of this call");
    return allocator->call->copy();
  });
}
