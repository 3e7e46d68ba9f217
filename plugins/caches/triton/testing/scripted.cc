/// A cache that does what its settings say; of its four functions it may be built without some.
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "triton/core/tritoncache.h"

struct TRITONCACHE_Cache {
  std::string config;
  std::mutex mutex;
  std::map<std::string, std::string> answers;

  bool does(const char* what) const { return config.find(what) != std::string::npos; }
};

namespace {

TRITONSERVER_Error* error(TRITONSERVER_Error_Code code, const char* text) {
  return TRITONSERVER_ErrorNew(code, text);
}

TRITONSERVER_BufferAttributes* attributes_of(size_t size) {
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  TRITONSERVER_BufferAttributesNew(&attributes);
  TRITONSERVER_BufferAttributesSetByteSize(attributes, size);
  return attributes;
}

}  // namespace

TRITONSERVER_Error* TRITONCACHE_CacheInitialize(TRITONCACHE_Cache** cache, const char* config) {
  if (std::strstr(config, "\"fail\":\"initialize\"") != nullptr) {
    return error(TRITONSERVER_ERROR_INVALID_ARG, "the settings are wrong");
  }
  if (std::strstr(config, "\"fail\":\"null\"") != nullptr) return nullptr;
  *cache = new TRITONCACHE_Cache;
  (*cache)->config = config;
  TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, "scripted.cc", 1, (std::string("config ") + config).c_str());
  return nullptr;
}

TRITONSERVER_Error* TRITONCACHE_CacheFinalize(TRITONCACHE_Cache* cache) {
  const bool fails = cache->does("\"fail\":\"finalize\"");
  delete cache;
  TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, "scripted.cc", 2, "finalized");
  return fails ? error(TRITONSERVER_ERROR_INTERNAL, "it would not end") : nullptr;
}

#ifndef SCRIPTED_NO_INSERT
TRITONSERVER_Error* TRITONCACHE_CacheInsert(TRITONCACHE_Cache* cache, const char* key,
                                            TRITONCACHE_CacheEntry* entry, TRITONCACHE_Allocator* allocator) {
  if (cache->does("\"insert\":\"error\""))
    return error(TRITONSERVER_ERROR_UNAVAILABLE, "nothing is kept today");
  if (cache->does("\"insert\":\"throw\"")) throw std::runtime_error("insertion");
  if (cache->does("\"insert\":\"nothing\"")) return nullptr;
  TRITONSERVER_BufferAttributes* attributes = attributes_of(1);
  void* base = nullptr;
  size_t size = 0;
  TRITONCACHE_CacheEntryGetBuffer(entry, 0, &base, attributes);
  TRITONSERVER_BufferAttributesByteSize(attributes, &size);
  TRITONSERVER_BufferAttributesDelete(attributes);
  std::string answer(size, '\0');
  TRITONCACHE_CacheEntrySetBuffer(entry, 0, answer.data(), nullptr);
  if (TRITONSERVER_Error* failed = TRITONCACHE_Copy(allocator, entry)) return failed;
  std::lock_guard lock(cache->mutex);
  // Under one key, whatever it is called with.
  const bool is_new = cache->answers.try_emplace(cache->does("\"keys\":\"one\"") ? "" : key, answer).second;
  return is_new ? nullptr : error(TRITONSERVER_ERROR_ALREADY_EXISTS, "it is there");
}
#endif

TRITONSERVER_Error* TRITONCACHE_CacheLookup(TRITONCACHE_Cache* cache, const char* key,
                                            TRITONCACHE_CacheEntry* entry, TRITONCACHE_Allocator* allocator) {
  if (cache->does("\"lookup\":\"error\""))
    return error(TRITONSERVER_ERROR_INTERNAL, "nothing is found today");
  if (cache->does("\"lookup\":\"throw\"")) throw std::runtime_error("look-up");
  if (cache->does("\"lookup\":\"nothing\"")) return nullptr;
  if (cache->does("\"lookup\":\"slow\"")) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  std::lock_guard lock(cache->mutex);
  const auto found = cache->answers.find(cache->does("\"keys\":\"one\"") ? "" : key);
  if (found == cache->answers.end()) return error(TRITONSERVER_ERROR_NOT_FOUND, "it is not there");
  std::string answer = found->second;
  if (cache->does("\"lookup\":\"cut\"")) answer.resize(answer.size() / 2);
  if (cache->does("\"lookup\":\"garbage\"")) answer = "garbage";
  TRITONSERVER_BufferAttributes* attributes = attributes_of(answer.size());
  const int times = cache->does("\"lookup\":\"two\"") ? 2 : 1;
  for (int i = 0; i < times; ++i) TRITONCACHE_CacheEntryAddBuffer(entry, answer.data(), attributes);
  TRITONSERVER_BufferAttributesDelete(attributes);
  return TRITONCACHE_Copy(allocator, entry);
}
