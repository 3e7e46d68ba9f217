#include "telemetry/trace/trace_context.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "atoll/lib/hex.h"

namespace atl::tracing {
namespace {

constexpr size_t kTraceparentSize = 55;
constexpr size_t kTracestateMax = 512;

/// -1 for what is no lower-case hexadecimal digit.
int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool read_hex(std::string_view text, std::span<uint8_t> bytes) noexcept {
  for (size_t i = 0; i < bytes.size(); ++i) {
    int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return true;
}

bool all_zero(std::span<const uint8_t> bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) noexcept {
  TraceContext context;
  std::array<uint8_t, 1> version{}, flags{};
  if (text.size() < kTraceparentSize || text[2] != '-' || text[35] != '-' || text[52] != '-') return {};
  bool read = read_hex(text.substr(0, 2), version) && read_hex(text.substr(3, 32), context.trace_id) &&
              read_hex(text.substr(36, 16), context.span_id) && read_hex(text.substr(53, 2), flags);
  if (!read || version[0] == 0xff || all_zero(context.trace_id) || all_zero(context.span_id)) return {};
  bool more = text.size() > kTraceparentSize;
  if (more && (version[0] == 0 || text[kTraceparentSize] != '-')) return {};
  return context;
}

std::string format_traceparent(const TraceContext& context) {
  return "00-" + hex(context.trace_id) + "-" + hex(context.span_id) + "-01";
}

std::string_view checked_tracestate(std::string_view text) noexcept {
  bool printable = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return printable && text.size() <= kTracestateMax ? text : std::string_view();
}

IdSource IdSource::from_system() {
  std::random_device random;
  auto word = [&] { return (uint64_t{random()} << 32) | random(); };
  return IdSource({word(), word()});
}

uint64_t IdSource::next(uint64_t seed) noexcept {
  // The finalizer of splitmix64: a bijection, so counted inputs give outputs that do not repeat.
  uint64_t z = seed + count_.fetch_add(1, std::memory_order_relaxed) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  z ^= z >> 31;
  return z == 0 ? 1 : z;
}

TraceIdBytes IdSource::trace_id() noexcept {
  uint64_t words[2] = {next(seed_[0]), next(seed_[1])};
  TraceIdBytes id;
  std::memcpy(id.data(), words, sizeof words);
  return id;
}

SpanId IdSource::span_id() noexcept {
  uint64_t word = next(seed_[1]);
  SpanId id;
  std::memcpy(id.data(), &word, sizeof word);
  return id;
}

}  // namespace atl::tracing
