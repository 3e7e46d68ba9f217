/// Durations and sizes as texts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace atl {

namespace quantity_detail {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

inline constexpr Unit kTimeUnits[] = {{"ns", 1},
                                      {"us", 1'000},
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"h", 3'600'000'000'000}};
inline constexpr Unit kByteUnits[] = {
    {"", 1}, {"B", 1}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40}};

constexpr std::optional<uint64_t> parse(std::string_view text, std::span<const Unit> units,
                                        uint64_t maximum) noexcept {
  uint64_t number = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    const auto digit = static_cast<uint64_t>(text[digits] - '0');
    if (number > (maximum - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
  }
  if (digits == 0) return std::nullopt;
  for (const Unit& unit : units) {
    if (unit.name == text.substr(digits) && number <= maximum / unit.factor) return number * unit.factor;
  }
  return std::nullopt;
}

}  // namespace quantity_detail

/// "250ms" -> 250,000,000. A whole number and one of ns, us, ms, s, m, h; null for any other text or beyond
/// 64 bits.
constexpr std::optional<int64_t> parse_duration_ns(std::string_view text) noexcept {
  auto value = quantity_detail::parse(text, quantity_detail::kTimeUnits, INT64_MAX);
  return value ? std::optional<int64_t>(static_cast<int64_t>(*value)) : std::nullopt;
}

/// "64MiB" -> 67,108,864. A whole number and one of B, KiB, MiB, GiB, TiB or nothing; null as above.
constexpr std::optional<uint64_t> parse_bytes(std::string_view text) noexcept {
  return quantity_detail::parse(text, quantity_detail::kByteUnits, UINT64_MAX);
}

}  // namespace atl
