#include "frontends/common/grpc/status_text.h"

#include "frontends/common/codec/wire_format.h"

namespace atl::frontends {
namespace {

constexpr std::string_view kShortened = " (shortened)";

size_t encoded_size(char byte) noexcept { return byte >= 0x20 && byte <= 0x7E && byte != '%' ? 1 : 3; }

bool continues_character(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

std::string shortened(std::string_view text) {
  size_t encoded = 0;
  size_t fits = 0;  // bytes that leave room for the mark
  for (size_t i = 0; i < text.size(); ++i) {
    encoded += encoded_size(text[i]);
    if (encoded + kShortened.size() <= kMaxStatusTextBytes) fits = i + 1;
    if (encoded <= kMaxStatusTextBytes) continue;
    while (fits > 0 && continues_character(text[fits])) --fits;
    return cat(text.substr(0, fits), kShortened);
  }
  return std::string(text);
}

std::string as_utf8(std::string_view text) {
  std::string result(text);
  if (is_utf8(text)) return result;
  for (size_t i = 0; i < result.size();) {
    size_t length = 1;
    while (length < 4 && i + length < result.size() && continues_character(result[i + length])) ++length;
    if (is_utf8(std::string_view(result).substr(i, length))) {
      i += length;
    } else {
      result[i++] = '?';
    }
  }
  return result;
}

std::array<std::pair<std::string_view, std::string>, 2> retry_metadata(uint32_t retry_after_ms) {
  return {{{"retry-after", std::to_string((uint64_t{retry_after_ms} + 999) / 1000)},
           {"grpc-retry-pushback-ms", std::to_string(retry_after_ms)}}};
}

Status client_status(const Status& status, int64_t deadline_ns, const Clock& clock) {
  if (status.code() != Code::kCancelled || deadline_ns == 0 || clock.now_ns() < deadline_ns)
    return status.clone();
  return Status(Code::kDeadlineExceeded, "Deadline Exceeded");
}

}  // namespace atl::frontends
