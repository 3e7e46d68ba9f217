#include "frontends/grpc_nghttp2/transport/frames/header_codec.h"

#include <array>
#include <charconv>
#include <limits>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
constexpr int64_t kMostOfAUnit = 1'000'000'000;

/// 0: no unit.
constexpr int64_t unit_ns(char unit) noexcept {
  switch (unit) {
    case 'H':
      return 3600 * kNsPerSecond;
    case 'M':
      return 60 * kNsPerSecond;
    case 'S':
      return kNsPerSecond;
    case 'm':
      return kNsPerMs;
    case 'u':
      return kNsPerUs;
    case 'n':
      return 1;
    default:
      return 0;
  }
}

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 0xFF;

constexpr std::array<uint8_t, 256> make_digits() noexcept {
  std::array<uint8_t, 256> digits{};
  for (uint8_t& digit : digits) digit = kNoDigit;
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return digits;
}
constexpr std::array<uint8_t, 256> kDigits = make_digits();

}  // namespace

std::optional<int64_t> parse_timeout_ns(std::string_view value) noexcept {
  if (value.size() < 2) return {};
  const int64_t unit = unit_ns(value.back());
  if (unit == 0) return {};
  int64_t count = 0;
  for (char digit : value.substr(0, value.size() - 1)) {
    if (digit < '0' || digit > '9') return {};
    if (count <= kMostOfAUnit) count = count * 10 + (digit - '0');
  }
  if (count > kMostOfAUnit || count > kForever / unit) return kForever;
  const int64_t timeout = count * unit;
  const int64_t rest = timeout % kNsPerMs;
  return rest == 0 ? timeout : timeout + (kNsPerMs - rest);
}

std::string timeout_text(int64_t timeout_ns) {
  constexpr int64_t kMostDigits = 99'999'999;
  const int64_t ms = timeout_ns / kNsPerMs + (timeout_ns % kNsPerMs != 0 ? 1 : 0);
  if (ms <= kMostDigits) return cat(ms, "m");
  const int64_t seconds = ms / 1000 + (ms % 1000 != 0 ? 1 : 0);
  return seconds <= kMostDigits ? cat(seconds, "S") : cat(seconds / 3600 + 1, "H");
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (char byte : text) {
    if (byte >= 0x20 && byte <= 0x7E && byte != '%') {
      encoded.push_back(byte);
      continue;
    }
    const auto bits = static_cast<unsigned char>(byte);
    encoded.push_back('%');
    encoded.push_back(kHex[bits >> 4]);
    encoded.push_back(kHex[bits & 15]);
  }
  return encoded;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  while (!text.empty()) {
    unsigned code = 0;
    const bool is_code = text.size() >= 3 && text[0] == '%' &&
                         std::from_chars(text.data() + 1, text.data() + 3, code, 16).ptr == text.data() + 3;
    decoded.push_back(is_code ? static_cast<char>(code) : text[0]);
    text.remove_prefix(is_code ? 3 : 1);
  }
  return decoded;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 == 0) {
    if (text.ends_with('=')) text.remove_suffix(1);
    if (text.ends_with('=')) text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return {};
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int held = 0;
  for (char character : text) {
    const uint8_t digit = kDigits[static_cast<unsigned char>(character)];
    if (digit == kNoDigit) return {};
    bits = bits << 6 | digit;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<char>(bits >> held & 0xFF));
  }
  // What is left over of the last digit is nothing, or it would be lost.
  if ((bits & ((1u << held) - 1)) != 0) return {};
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  uint32_t bits = 0;
  int held = 0;
  for (char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (held += 8; held >= 6; held -= 6) text.push_back(kAlphabet[bits >> (held - 6) & 0x3F]);
  }
  if (held != 0) text.push_back(kAlphabet[bits << (6 - held) & 0x3F]);
  return text;
}

}  // namespace atl::frontends::grpc_nghttp2
