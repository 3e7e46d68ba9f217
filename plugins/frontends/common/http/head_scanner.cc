#include "frontends/common/http/head_scanner.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"
#include "frontends/common/http/messages.h"

namespace atl::frontends::http {
namespace {

/// A client that begins with TLS sends this byte first: the type of the record that has its ClientHello.
constexpr unsigned char kTlsHandshake = 22;

}  // namespace

HeadScanner::Result HeadScanner::scan(std::string_view bytes) {
  while (position_ < bytes.size()) {
    const auto byte = static_cast<unsigned char>(bytes[position_]);
    if (position_ >= most_bytes_) {
      return refuse(431, cat("the request's headers take more than ", most_bytes_, " bytes"));
    }
    if (byte == '\n') {
      if (!after_cr_) return refuse(400, "a line of the request's head does not end with CR LF");
      ++position_;
      const bool empty = position_ - line_start_ == 2;
      if (empty) return end_line();
      if (lines_ > limits_.headers)
        return refuse(431, cat("the request has more than ", limits_.headers, " headers"));
      if (lines_ == 0) most_bytes_ = std::min(most_bytes_, position_ + limits_.fields_bytes);
      ++lines_;
      line_start_ = position_;
      after_cr_ = false;
      continue;
    }
    if (!check(byte)) return Result::kRefused;
    after_cr_ = byte == '\r';
    ++position_;
  }
  return Result::kNeedMore;
}

HeadScanner::Result HeadScanner::end_line() {
  if (lines_ == 0) return refuse(400, "the request has no request line");
  return Result::kComplete;
}

bool HeadScanner::check(unsigned char byte) {
  if (after_cr_) {
    refuse(400, "a line of the request's head holds a CR that does not end it");
    return false;
  }
  if (byte == '\r') return true;
  if ((byte < 0x20 && byte != '\t') || byte == 0x7F) {
    const bool is_tls = position_ == 0 && byte == kTlsHandshake;
    refuse(400, is_tls ? std::string("the client speaks TLS, and this port has no TLS: use http:// as scheme")
                       : cat("the request's head holds the control character ", static_cast<int>(byte)));
    return false;
  }
  if (lines_ == 0) {
    space_seen_ = space_seen_ || byte == ' ';
    if (position_ - line_start_ >= limits_.line_bytes) {
      if (space_seen_) {
        refuse(414, cat("the request line takes more than ", limits_.line_bytes, " bytes"));
      } else {
        refuse(405, std::string(messages::kMethodNotAllowed));
      }
      return false;
    }
  } else if (position_ == line_start_ && (byte == ' ' || byte == '\t')) {
    refuse(400, "a header is folded over several lines");
    return false;
  }
  return true;
}

HeadScanner::Result HeadScanner::refuse(int http_status, std::string text) {
  refusal_ = {http_status, std::move(text)};
  return Result::kRefused;
}

void HeadScanner::reset() noexcept {
  most_bytes_ = limits_.head_bytes;
  position_ = line_start_ = lines_ = 0;
  after_cr_ = space_seen_ = false;
  refusal_.http_status = 0;
  refusal_.text.clear();
}

}  // namespace atl::frontends::http
