/// Two marks that frontends set on a request for those who observe it (atoll/request/request_observer.h): on which
/// stream of the client it came, and which of its parameters were headers. Nobody else looks at them.
///
///     mark_stream(request, stream_number_);             // the frontend, before Model::infer()
///     mark_forwarded_header(request.add_parameter());
///     if (stream_number(request) != 0) ...              // who observes it
#pragma once

#include <atomic>
#include <cstdint>

#include "atoll/request/request.h"

namespace atl {

/// How far up in Request::call_flags the stream's number is, which has kStreamNumberBits bits.
inline constexpr uint32_t kStreamNumberShift = 6;
inline constexpr uint32_t kStreamNumberBits = 24;
inline constexpr uint32_t kStreamNumberMax = (1u << kStreamNumberBits) - 1;

/// A number for a stream that begins. Never 0; numbers come again after 16 million streams. Each plugin counts by itself,
/// from a place of its own. [any]
inline uint32_t next_stream_number() noexcept {
  static std::atomic<uint32_t> count{0};
  const auto place = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&count) >> 4);
  return (place + count.fetch_add(1, std::memory_order_relaxed)) % kStreamNumberMax + 1;
}
/// Says that the request came on this stream. To be called once for each use of the request, before Model::infer().
inline void mark_stream(Request& request, uint32_t number) noexcept {
  request.call_flags |= (number & kStreamNumberMax) << kStreamNumberShift;
}
/// Requests of one client's stream have the same number; 0: the request came alone.
inline uint32_t stream_number(const Request& request) noexcept {
  return request.call_flags >> kStreamNumberShift & kStreamNumberMax;
}

/// Says that the parameter is a header of the call, which the frontend was told to forward.
inline void mark_forwarded_header(Parameter& parameter) noexcept { parameter.reserved = 1; }
inline bool is_forwarded_header(const Parameter& parameter) noexcept { return parameter.reserved == 1; }

}  // namespace atl
