/// Durations and sizes as texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace atl::runtime {

/// "250ms" -> 250,000,000. A whole number and one of ns, us, ms, s, m, h; null for any other text or beyond
/// 64 bits.
std::optional<int64_t> parse_duration_ns(std::string_view text) noexcept;

/// "64MiB" -> 67,108,864. A whole number and one of B, KiB, MiB, GiB, TiB or nothing; null as above.
std::optional<uint64_t> parse_bytes(std::string_view text) noexcept;

}  // namespace atl::runtime
