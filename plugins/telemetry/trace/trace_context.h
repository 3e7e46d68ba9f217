/// W3C trace context: the `traceparent` and `tracestate` of a request, and new ids.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace atl::tracing {

using TraceIdBytes = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

/// Where a trace comes from or goes on.
struct TraceContext {
  TraceIdBytes trace_id{};
  SpanId span_id{};
};

/// Reads "00-<32 hex>-<16 hex>-<2 hex>". Texts of later versions are read as far as version 00 defines them.
/// \returns nothing if it is not one, or has an id of zeros.
std::optional<TraceContext> parse_traceparent(std::string_view text) noexcept;
/// Version 00, sampled.
std::string format_traceparent(const TraceContext& context);
/// The text if it may be handed on as tracestate (printable, at most 512 bytes), else nothing.
std::string_view checked_tracestate(std::string_view text) noexcept;

/// Makes ids that do not repeat within the process and hardly anywhere else. [any]
class IdSource {
 public:
  /// \param seed  128 random bits.
  explicit IdSource(std::array<uint64_t, 2> seed) noexcept : seed_(seed) {}
  /// Seeded by the system.
  static IdSource from_system();
  IdSource(const IdSource& other) noexcept : seed_(other.seed_) {}

  TraceIdBytes trace_id() noexcept;
  SpanId span_id() noexcept;

 private:
  uint64_t next(uint64_t seed) noexcept;

  std::array<uint64_t, 2> seed_;
  std::atomic<uint64_t> count_{0};
};

}  // namespace atl::tracing
