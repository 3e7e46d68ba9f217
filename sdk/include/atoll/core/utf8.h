/// Well-formed UTF-8, as Unicode defines it and protobuf's `string` fields require it: no overlong
/// forms, no surrogates, nothing above U+10FFFF. For text from outside (names, file contents, what
/// a model has written), which may be any bytes.
///
///     if (!is_utf8(name)) return invalid_argument("the model's name is not UTF-8");
///     response.set_error(replace_invalid_utf8(message));  // protobuf refuses a string that is not UTF-8
///     replace_invalid_utf8("caf\xE9");                    // "caf\uFFFD"
///     utf8_sequence_length("\xC3\xA9t\xC3\xA9");          // 2, the bytes of the first character
///
/// What a client has sent, such as a model's name, is refused if it is not UTF-8. What is only
/// shown, such as an error's message, a label of a metric or a line of a program's output, is
/// replaced where it is wrong.
///
/// All functions are pure, take any bytes, also NUL, and may be called on any thread. [any]
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace atl {

/// How many bytes the first character of the text has, 1 to 4. 0 if the text is empty, or does not
/// begin with a whole well-formed character: a text that was cut in the middle of a character ends
/// in such a part.
inline size_t utf8_sequence_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  // As numbers from 0 to 255: char may be signed.
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  // The first byte says how long the character is. 0x80 to 0xBF come only behind one, 0xC0 and 0xC1
  // would begin an overlong form of ASCII, and those from 0xF5 on would be beyond U+10FFFF.
  const uint8_t lead = byte(0);
  // ASCII.
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  // 0xC2 to 0xDF begin two bytes, 0xE0 to 0xEF three, 0xF0 to 0xF4 four.
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Which second bytes are allowed depends on the first one (Table 3-7 of the Unicode standard).
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;  // below: overlong
  const uint8_t high = lead == 0xED   ? 0x9F
                       : lead == 0xF4 ? 0x8F
                                      : 0xBF;  // above: surrogates, beyond U+10FFFF
  // The text ends inside of the character, or the second byte does not fit the first one.
  if (text.size() < length || byte(1) < low || byte(1) > high) return 0;
  // The third and the fourth byte may be any of 0x80 to 0xBF.
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

/// Whether the text consists of whole characters only; an empty text does. Plain ASCII is looked at
/// eight bytes at a time, so that this costs little for most texts.
inline bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    // Eight bytes without a highest bit are eight characters of ASCII.
    uint64_t eight = 0;
    if (text.size() >= sizeof eight) {
      std::memcpy(&eight, text.data(), sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        text.remove_prefix(sizeof eight);
        continue;
      }
    }
    // One character at a time, where it is not plain ASCII.
    const size_t length = utf8_sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// A copy of the text, in which each byte that is part of no character is replaced by U+FFFD, which
/// is shown as a question mark in a diamond. What is valid stays as it is. The copy may be up to
/// three times as long as the text, because U+FFFD has three bytes.
inline std::string replace_invalid_utf8(std::string_view text) {
  std::string valid;
  // Enough where nothing is replaced.
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_sequence_length(text);
    // EF BF BD is U+FFFD in UTF-8.
    valid += length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

}  // namespace atl
