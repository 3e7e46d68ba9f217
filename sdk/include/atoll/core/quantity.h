/// Durations and sizes as texts, in the form that the manifest has: "250ms", "64MiB". Options of
/// these types are read already (Options::get_duration_ns() and get_bytes()). These functions are
/// for such texts elsewhere: in parameters of a model's configuration, in members of an option that
/// is a map, in JSON.
///
///     if (std::optional<int64_t> ns = parse_duration_ns("250ms")) wait_for(*ns);  // 250,000,000
///     std::optional<uint64_t> bytes = parse_bytes("64MiB");                       // 67,108,864
///     parse_duration_ns("1.5s");                                                  // nothing: write "1500ms"
///
/// Both functions are constexpr, which is how option tables (option_table.h) check their defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace atl {

/// How both are read; callers need nothing of this namespace.
namespace quantity_detail {

/// What follows the number.
struct Unit {
  /// As it follows the number: "ms".
  std::string_view name;
  /// How many nanoseconds or bytes it has.
  uint64_t factor;
};

/// There is no unit above the hour. A duration without a unit is refused, "0" too.
inline constexpr Unit kTimeUnits[] = {{"ns", 1},
                                      {"us", 1'000},
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"h", 3'600'000'000'000}};
/// Powers of 1024, with the names of IEC 80000-13. "MB" and "M" are no units here.
inline constexpr Unit kByteUnits[] = {
    {"", 1}, {"B", 1}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40}};

/// A whole number, directly followed by a unit: neither a sign, nor blanks, nor a fraction.
/// \param units  those that are allowed
/// \param maximum  the largest value that the caller can hold
/// \returns nothing if the text has another form, or its value exceeds `maximum`
constexpr std::optional<uint64_t> parse(std::string_view text, std::span<const Unit> units,
                                        uint64_t maximum) noexcept {
  uint64_t number = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    const auto digit = static_cast<uint64_t>(text[digits] - '0');
    // One more digit would make the number larger than `maximum`.
    if (number > (maximum - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
  }
  // A unit alone is no quantity.
  if (digits == 0) return std::nullopt;
  // All of the rest has to be the unit's name, so "5 ms" and "5msec" find none.
  for (const Unit& unit : units) {
    if (unit.name == text.substr(digits) && number <= maximum / unit.factor) return number * unit.factor;
  }
  return std::nullopt;
}

}  // namespace quantity_detail

/// Reads a duration: a whole number and one of ns, us, ms, s, m, h, without a blank between them. A
/// duration is never negative.
/// \returns nanoseconds; nothing for any other text, or beyond 63 bits (292 years). [any]
constexpr std::optional<int64_t> parse_duration_ns(std::string_view text) noexcept {
  auto value = quantity_detail::parse(text, quantity_detail::kTimeUnits, INT64_MAX);
  return value ? std::optional<int64_t>(static_cast<int64_t>(*value)) : std::nullopt;
}

/// Reads a size: a whole number and one of B, KiB, MiB, GiB, TiB, or no unit, which means bytes.
/// Upper and lower case count: "64mib" is refused.
/// \returns bytes; nothing for any other text, or beyond 64 bits. [any]
constexpr std::optional<uint64_t> parse_bytes(std::string_view text) noexcept {
  return quantity_detail::parse(text, quantity_detail::kByteUnits, UINT64_MAX);
}

}  // namespace atl
