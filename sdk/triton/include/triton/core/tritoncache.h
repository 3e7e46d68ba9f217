/// The part of Triton's C API for response caches: shared objects that keep answers for the server. The rules of
/// tritonserver.h hold here as well; a handle that was used after the call that gave it, or deleted, gives INVALID_ARG.
///
/// What is kept under a key is a list of buffers, one for each response, whose bytes are the server's alone. A cache sees them in
/// an entry, and moves them only by TRITONCACHE_Copy.
#pragma once

#include "triton/core/tritonserver.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What the server exports, and what a cache exports.
#define TRITONCACHE_DECLSPEC __attribute__((visibility("default")))
#define TRITONCACHE_ISPEC __attribute__((visibility("default")))

#define TRITONCACHE_API_VERSION_MAJOR 0
#define TRITONCACHE_API_VERSION_MINOR 1

/// What a cache keeps of itself: its own type.
typedef struct TRITONCACHE_Cache TRITONCACHE_Cache;
typedef struct TRITONCACHE_CacheEntry TRITONCACHE_CacheEntry;
typedef struct TRITONCACHE_Allocator TRITONCACHE_Allocator;

/// As TRITONSERVER_ApiVersion, for this part of the API.
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_ApiVersion(uint32_t* major, uint32_t* minor);

// --- entries: of the server for one call, or a program's own. Any thread. ---

/// An entry without buffers, which the caller owns. No allocator copies it.
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryNew(TRITONCACHE_CacheEntry** entry);
/// Of an entry that TRITONCACHE_CacheEntryNew made: INVALID_ARG for the server's.
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryDelete(TRITONCACHE_CacheEntry* entry);

TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryBufferCount(TRITONCACHE_CacheEntry* entry,
                                                                           size_t* count);
/// In a look-up: what was kept, in memory of the cache's, which may change or go after TRITONCACHE_Copy.
/// \param buffer_attributes  its bytes, at least one, in memory of the CPU, pinned or not; copied
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryAddBuffer(
    TRITONCACHE_CacheEntry* entry, void* base, TRITONSERVER_BufferAttributes* buffer_attributes);
/// \param base  gets the buffer's address: null where something is to be kept that the cache has not yet given memory for
/// \param buffer_attributes  of the caller's; gets size and memory type
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryGetBuffer(
    TRITONCACHE_CacheEntry* entry, size_t index, void** base,
    TRITONSERVER_BufferAttributes* buffer_attributes);
/// In an insertion: where the cache would have the buffer's bytes.
/// \param buffer_attributes  null: as many bytes as the buffer has, in memory of the CPU; else they are not fewer
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntrySetBuffer(
    TRITONCACHE_CacheEntry* entry, size_t index, void* new_base,
    TRITONSERVER_BufferAttributes* buffer_attributes);

/// Copies what is to be kept into the buffers that the cache has set, or what was kept out of those that it has added.
/// Both belong to the call that gave them. The memory has to stay as it is until it returns.
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_Copy(TRITONCACHE_Allocator* allocator,
                                                          TRITONCACHE_CacheEntry* entry);

// --- what a cache exports: all four ---

/// When the server begins. An error keeps it from serving.
/// \param cache  gets what the other functions are called with: not null
/// \param config  settings, a JSON object of texts
TRITONCACHE_ISPEC TRITONSERVER_Error* TRITONCACHE_CacheInitialize(TRITONCACHE_Cache** cache,
                                                                  const char* config);
/// When no other call comes. An error is logged.
TRITONCACHE_ISPEC TRITONSERVER_Error* TRITONCACHE_CacheFinalize(TRITONCACHE_Cache* cache);
/// Finds what was kept: buffers are added to the entry, and then copied. NOT_FOUND: nothing is kept under this key.
/// Several threads.
TRITONCACHE_ISPEC TRITONSERVER_Error* TRITONCACHE_CacheLookup(TRITONCACHE_Cache* cache, const char* key,
                                                              TRITONCACHE_CacheEntry* entry,
                                                              TRITONCACHE_Allocator* allocator);
/// Keeps what the entry's buffers, which have sizes and no addresses, stand for. ALREADY_EXISTS: the key has something.
/// Several threads.
TRITONCACHE_ISPEC TRITONSERVER_Error* TRITONCACHE_CacheInsert(TRITONCACHE_Cache* cache, const char* key,
                                                              TRITONCACHE_CacheEntry* entry,
                                                              TRITONCACHE_Allocator* allocator);

#ifdef __cplusplus
}
#endif
