#include "frontends/common/http/reply_head.h"

#include <charconv>

namespace atl::frontends::http {
namespace {

void append_number(uint64_t number, std::string* to) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  to->append(digits, static_cast<size_t>(end - digits));
}

}  // namespace

std::string_view reason_phrase(int http_status) noexcept {
  switch (http_status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Payload Too Large";
    case 414:
      return "URI Too Long";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Unknown";
  }
}

void write_reply_head(const ReplyHead& head, std::string_view more_lines, int version, Framing framing,
                      bool keep_alive, std::string* to) {
  *to = version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  append_number(static_cast<uint64_t>(head.http_status), to);
  *to += ' ';
  *to += head.reason.empty() ? reason_phrase(head.http_status) : head.reason;
  *to += "\r\n";
  if (!head.content_type.empty()) {
    *to += "Content-Type: ";
    *to += head.content_type;
    *to += "\r\n";
  }
  if (head.encoding != Encoding::kIdentity) {
    *to += "Content-Encoding: ";
    *to += encoding_name(head.encoding);
    *to += "\r\n";
  }
  if (head.json_bytes) {
    *to += "Inference-Header-Content-Length: ";
    append_number(*head.json_bytes, to);
    *to += "\r\n";
  }
  if (head.retry_after_ms != 0) {
    *to += "Retry-After: ";
    append_number((uint64_t{head.retry_after_ms} + 999) / 1000, to);
    *to += "\r\n";
  }
  *to += head.extra;
  *to += more_lines;
  if (framing == Framing::kLength) {
    *to += "Content-Length: ";
    append_number(head.content_length, to);
    *to += "\r\n";
  } else if (framing == Framing::kChunked) {
    *to += "Transfer-Encoding: chunked\r\n";
  }
  if (!keep_alive) {
    *to += "Connection: close\r\n";
  } else if (version == 10) {
    *to += "Connection: keep-alive\r\n";
  }
  *to += "\r\n";
}

}  // namespace atl::frontends::http
