/// Small pieces of JSON that are appended to a text, as events of streams are: one for each token.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace atl::frontends::openai {

/// A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
void append_json_text(std::string& out, std::string_view text);

template <std::integral T>
void append_number(std::string& out, T number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace atl::frontends::openai
