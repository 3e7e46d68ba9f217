/// RapidJSON over memory that is checked: it takes for granted that it gets some.
#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstddef>
#include <cstring>
#include <new>

namespace atl {

/// As rapidjson::CrtAllocator, which gives null where there is no memory; this one throws std::bad_alloc.
class CheckedAllocator {
 public:
  static constexpr bool kNeedFree = true;
  void* Malloc(size_t size) { return size == 0 ? nullptr : ::operator new(size); }
  void* Realloc(void* before, size_t before_size, size_t size) {
    void* grown = Malloc(size);
    if (before != nullptr && grown != nullptr)
      std::memcpy(grown, before, before_size < size ? before_size : size);
    Free(before);
    return grown;
  }
  static void Free(void* memory) { ::operator delete(memory); }
};

/// As rapidjson::StringBuffer and Writer, with that memory.
using CheckedBuffer = rapidjson::GenericStringBuffer<rapidjson::UTF8<>, CheckedAllocator>;
using CheckedWriter =
    rapidjson::Writer<CheckedBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>, CheckedAllocator>;

}  // namespace atl
