/// What all requests of the server together may take of its memory. Service "atoll.request_memory/1"; may be
/// absent, and then nothing bounds the sum. Frontends reserve what they are about to take for a request, and
/// give it back when the request is answered and released.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/status.h"

namespace atl {

/// [any] Every function may be called from any thread; none blocks.
class RequestMemory {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.request_memory/1";

  /// Counts so many bytes more, before they are taken. Reserves nothing if it fails.
  /// Errors: RESOURCE_EXHAUSTED requests would take more than the limit; the text is for the client.
  virtual Status reserve(uint64_t bytes) noexcept = 0;
  /// Gives back what was reserved here, in one piece or several.
  virtual void release(uint64_t bytes) noexcept = 0;
  /// Whether so many bytes could be reserved now; reserves nothing. For what arrives slowly: a promise of
  /// many bytes should not keep others out. Errors: as reserve().
  virtual Status check(uint64_t bytes) noexcept = 0;
  /// Bytes reserved, and the limit (0: none).
  virtual uint64_t used_bytes() const noexcept = 0;
  virtual uint64_t limit_bytes() const noexcept = 0;

 protected:
  ~RequestMemory() = default;
};

}  // namespace atl
