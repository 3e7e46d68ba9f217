#include "atoll/runtime/quantity.h"

#include <charconv>
#include <span>

namespace atl::runtime {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr Unit kTimeUnits[] = {{"ns", 1},
                               {"us", 1'000},
                               {"ms", 1'000'000},
                               {"s", 1'000'000'000},
                               {"m", 60'000'000'000},
                               {"h", 3'600'000'000'000}};
constexpr Unit kByteUnits[] = {
    {"", 1}, {"B", 1}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40}};

std::optional<uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units,
                                       uint64_t maximum) noexcept {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit_name(rest, static_cast<size_t>(end - rest));
  for (const Unit& unit : units) {
    if (unit.name == unit_name && number <= maximum / unit.factor) return number * unit.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> parse_duration_ns(std::string_view text) noexcept {
  auto value = parse_quantity(text, kTimeUnits, INT64_MAX);
  return value ? std::optional<int64_t>(static_cast<int64_t>(*value)) : std::nullopt;
}

std::optional<uint64_t> parse_bytes(std::string_view text) noexcept {
  return parse_quantity(text, kByteUnits, UINT64_MAX);
}

}  // namespace atl::runtime
