// A cache of answers in memory: the youngest thousand.
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "triton/core/tritoncache.h"

// Its own type, for the one that the API names.
struct TRITONCACHE_Cache {
  using Answer = std::vector<std::string>;  // the buffers

  static constexpr size_t kMost = 1000;

  std::mutex mutex;  // of what follows
  std::unordered_map<std::string, Answer> answers;
  std::deque<std::string> by_age;
};

namespace {

// What the server is told of a buffer's memory.
class Attributes {
 public:
  Attributes() { error_ = TRITONSERVER_BufferAttributesNew(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() {
    if (attributes_ != nullptr) TRITONSERVER_BufferAttributesDelete(attributes_);
  }
  TRITONSERVER_Error* take_error() { return std::exchange(error_, nullptr); }
  TRITONSERVER_BufferAttributes* get() const { return attributes_; }

 private:
  TRITONSERVER_BufferAttributes* attributes_ = nullptr;
  TRITONSERVER_Error* error_ = nullptr;
};

// Nothing may be thrown across the API.
template <class Function>
TRITONSERVER_Error* guarded(Function&& function) {
  try {
    return function();
  } catch (const std::exception& exception) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, exception.what());
  }
}

TRITONSERVER_Error* make_room(TRITONCACHE_CacheEntry* entry, TRITONSERVER_BufferAttributes* attributes,
                              TRITONCACHE_Cache::Answer& answer) {
  size_t count = 0;
  if (auto* error = TRITONCACHE_CacheEntryBufferCount(entry, &count)) return error;
  answer.resize(count);
  for (size_t i = 0; i < count; ++i) {
    void* base = nullptr;
    size_t size = 0;
    if (auto* error = TRITONCACHE_CacheEntryGetBuffer(entry, i, &base, attributes)) return error;
    if (auto* error = TRITONSERVER_BufferAttributesByteSize(attributes, &size)) return error;
    answer[i].resize(size);
    if (auto* error = TRITONCACHE_CacheEntrySetBuffer(entry, i, answer[i].data(), nullptr)) return error;
  }
  return nullptr;
}

TRITONSERVER_Error* insert(TRITONCACHE_Cache& cache, const char* key, TRITONCACHE_CacheEntry* entry,
                           TRITONCACHE_Allocator* allocator) {
  Attributes attributes;
  if (auto* error = attributes.take_error()) return error;
  TRITONCACHE_Cache::Answer answer;
  if (auto* error = make_room(entry, attributes.get(), answer)) return error;
  // From the server into `answer`, which nobody else sees yet.
  if (auto* error = TRITONCACHE_Copy(allocator, entry)) return error;
  std::lock_guard lock(cache.mutex);
  if (!cache.answers.try_emplace(key, std::move(answer)).second) {
    const std::string text = std::string("key '") + key + "' already exists";
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_ALREADY_EXISTS, text.c_str());
  }
  cache.by_age.push_back(key);
  if (cache.by_age.size() > TRITONCACHE_Cache::kMost) {
    cache.answers.erase(cache.by_age.front());
    cache.by_age.pop_front();
  }
  return nullptr;
}

TRITONSERVER_Error* look_up(TRITONCACHE_Cache& cache, const char* key, TRITONCACHE_CacheEntry* entry,
                            TRITONCACHE_Allocator* allocator) {
  Attributes attributes;
  if (auto* error = attributes.take_error()) return error;
  std::lock_guard lock(cache.mutex);
  const auto found = cache.answers.find(key);
  if (found == cache.answers.end()) {
    const std::string text = std::string("key [") + key + "] does not exist";
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_NOT_FOUND, text.c_str());
  }
  for (std::string& buffer : found->second) {
    if (auto* error = TRITONSERVER_BufferAttributesSetByteSize(attributes.get(), buffer.size())) return error;
    if (auto* error = TRITONCACHE_CacheEntryAddBuffer(entry, buffer.data(), attributes.get())) return error;
  }
  // With the lock: the answer must not be thrown out before it is copied.
  return TRITONCACHE_Copy(allocator, entry);
}

}  // namespace

TRITONSERVER_Error* TRITONCACHE_CacheInitialize(TRITONCACHE_Cache** cache, const char*) {
  return guarded([&]() -> TRITONSERVER_Error* {
    *cache = new TRITONCACHE_Cache;
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONCACHE_CacheFinalize(TRITONCACHE_Cache* cache) {
  delete cache;
  return nullptr;
}

TRITONSERVER_Error* TRITONCACHE_CacheInsert(TRITONCACHE_Cache* cache, const char* key,
                                            TRITONCACHE_CacheEntry* entry, TRITONCACHE_Allocator* allocator) {
  return guarded([&] { return insert(*cache, key, entry, allocator); });
}

TRITONSERVER_Error* TRITONCACHE_CacheLookup(TRITONCACHE_Cache* cache, const char* key,
                                            TRITONCACHE_CacheEntry* entry, TRITONCACHE_Allocator* allocator) {
  return guarded([&] { return look_up(*cache, key, entry, allocator); });
}
