#include "atoll/runtime/escape.h"

#include <array>
#include <cstdint>

#include "atoll/core/utf8.h"

namespace atl::runtime {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

void append_hex(std::string& out, uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out.push_back(kHexDigits[(value >> shift) & 15u]);
}

uint32_t decode(std::string_view sequence) {
  constexpr std::array<uint32_t, 5> kLeadMask = {0, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t code_point = static_cast<unsigned char>(sequence[0]) & kLeadMask[sequence.size()];
  for (char c : sequence.substr(1)) code_point = code_point << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return code_point;
}

bool is_control(uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) ||
         (code_point >= 0x2028 && code_point <= 0x202e) || (code_point >= 0x2066 && code_point <= 0x2069);
}

/// The letter of a two-character escape, or 0.
char short_escape(uint32_t code_point) {
  switch (code_point) {
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    size_t length = utf8_sequence_length(text);
    uint32_t code_point = length == 0 ? static_cast<unsigned char>(text[0]) : decode(text.substr(0, length));
    if (length != 0 && !is_control(code_point)) {
      out.append(text.substr(0, length));
    } else if (char letter = short_escape(code_point); letter != 0) {
      out.append({'\\', letter});
    } else if (code_point < 0x100) {
      append_hex(out.append("\\x"), code_point, 2);
    } else {
      append_hex(out.append("\\u"), code_point, 4);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

void append_json_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    size_t length = utf8_sequence_length(text);
    uint32_t code_point = length == 0 ? 0xfffd : decode(text.substr(0, length));
    if (char letter = short_escape(code_point); letter != 0) {
      out.append({'\\', letter});
    } else if (code_point == '"' || code_point == '\\') {
      out.append({'\\', static_cast<char>(code_point)});
    } else if (length == 0) {
      out.append("\xef\xbf\xbd");
    } else if (is_control(code_point)) {
      append_hex(out.append("\\u"), code_point, 4);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

}  // namespace atl::runtime
