#include "trace/trace_context.h"

#include "atoll/core/text.h"

namespace atl::triton {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string escaped(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kDigits[c >> 4];
      out += kDigits[c & 15];
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void add_member(std::string& context, uint64_t number, std::string_view text) {
  if (context.empty()) context = "{}";
  const size_t first = context.find_first_not_of(kSpace);
  const size_t last = context.find_last_not_of(kSpace);
  if (first == std::string::npos || context[first] != '{' || context[last] != '}' || first == last) return;
  const size_t before = context.find_last_not_of(kSpace, last - 1);
  context.insert(last, cat(before == first ? "" : ",", "\"", number, "\":\"", escaped(text), "\""));
}

// Its value has no escapes: hexadecimal digits and hyphens.
std::string_view traceparent_of(std::string_view context) noexcept {
  constexpr std::string_view kKey = "\"traceparent\"";
  size_t at = context.find(kKey);
  if (at == std::string_view::npos) return {};
  at = context.find_first_not_of(kSpace, at + kKey.size());
  if (at == std::string_view::npos || context[at] != ':') return {};
  at = context.find_first_not_of(kSpace, at + 1);
  if (at == std::string_view::npos || context[at] != '"') return {};
  const size_t end = context.find('"', at + 1);
  return end == std::string_view::npos ? std::string_view() : context.substr(at + 1, end - at - 1);
}

}  // namespace atl::triton
