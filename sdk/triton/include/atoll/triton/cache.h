/// What a cache made for Triton is shown: the handles of one call of its CacheInsert or CacheLookup.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "triton/core/tritoncache.h"

namespace atl::triton {

/// Its handles stand for something as long as it lives; used later they are found out, as handles of requests are. One
/// thread; the foreign code may use the handles on any.
class CacheCall {
 public:
  /// Of CacheInsert, for one buffer. \param bytes  not empty; live as long as this object
  static CacheCall insertion(std::string_view bytes) { return CacheCall(true, bytes); }
  /// Of CacheLookup.
  static CacheCall look_up() { return CacheCall(false, {}); }
  CacheCall(const CacheCall&) = delete;
  CacheCall& operator=(const CacheCall&) = delete;
  ~CacheCall();

  TRITONCACHE_CacheEntry* entry() const noexcept { return entry_; }
  TRITONCACHE_Allocator* allocator() const noexcept { return allocator_; }

  // When the call has returned, and no thread of the foreign code's uses the handles any more or end() was called.

  /// The handles stand for nothing from here on.
  void end() noexcept;
  /// Whether the bytes were copied, the last time with success.
  bool copied() const noexcept { return copied_; }
  /// Of a look-up: the buffers that were copied.
  std::vector<std::string> take_buffers() noexcept { return std::move(received_); }

 private:
  CacheCall(bool is_insertion, std::string_view bytes);
  friend TRITONSERVER_Error* ::TRITONCACHE_Copy(TRITONCACHE_Allocator*, TRITONCACHE_CacheEntry*);
  TRITONSERVER_Error* copy();

  const bool is_insertion_;
  const std::string_view bytes_;
  bool copied_ = false;
  std::vector<std::string> received_;
  TRITONCACHE_CacheEntry* entry_;
  TRITONCACHE_Allocator* allocator_;
};

}  // namespace atl::triton
