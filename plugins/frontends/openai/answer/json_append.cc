#include "frontends/openai/answer/json_append.h"

#include "atoll/core/utf8.h"

namespace atl::frontends::openai {
namespace {

void append_escaped(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out += text.substr(begin, at - begin);
    begin = at + 1;
    out += '\\';
    switch (byte) {
      case '\n':
        out += 'n';
        break;
      case '\r':
        out += 'r';
        break;
      case '\t':
        out += 't';
        break;
      case '"':
      case '\\':
        out += static_cast<char>(byte);
        break;
      default:
        out += "u00";
        out += kHex[byte >> 4];
        out += kHex[byte & 15u];
    }
  }
  out += text.substr(begin);
}

}  // namespace

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  is_utf8(text) ? append_escaped(out, text) : append_escaped(out, replace_invalid_utf8(text));
  out += '"';
}

}  // namespace atl::frontends::openai
