/// What the bare servers that the benchmarks compare with need of HTTP.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace bench {

/// How many bytes follow a head of HTTP/1.1: the value of Content-Length, or 0 without one.
inline size_t content_length(std::string_view head) {
  constexpr std::string_view kName = "\r\ncontent-length:";
  const auto same = [](char left, char right) {
    return std::tolower(static_cast<unsigned char>(left)) == right;
  };
  auto at = std::search(head.begin(), head.end(), kName.begin(), kName.end(), same);
  if (at == head.end()) return 0;
  at = std::find_if(at + kName.size(), head.end(), [](char c) { return c != ' '; });
  size_t length = 0;
  std::from_chars(&*at, head.data() + head.size(), length);
  return length;
}

}  // namespace bench
