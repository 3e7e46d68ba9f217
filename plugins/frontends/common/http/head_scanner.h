/// Finds the end of a request's head in bytes that come in pieces, and refuses early what cannot become one.
#pragma once

#include <cstddef>
#include <string_view>

#include "frontends/common/http/request_head.h"

namespace atl::frontends::http {

inline constexpr size_t kMaxRequestLineBytes = 8 * 1024;
inline constexpr size_t kMaxHeadBytes = 64 * 1024;
inline constexpr size_t kMaxHeaders = 100;

/// Of one head. head_bytes may be less than kMaxHeadBytes, not more.
struct HeadLimits {
  size_t line_bytes = kMaxRequestLineBytes;  ///< request line, without its line end
  size_t head_bytes = kMaxHeadBytes;         ///< request line, headers and the empty line
  size_t fields_bytes = kMaxHeadBytes;       ///< headers and the empty line
  size_t headers = kMaxHeaders;
};

/// Each byte is looked at once. Refused: control characters (so TLS is told apart at its first byte), line
/// ends other than CR LF, folded header lines, and whatever is over a limit. Not thread safe.
class HeadScanner {
 public:
  enum class Result { kNeedMore, kComplete, kRefused };

  explicit HeadScanner(const HeadLimits& limits = {}) noexcept
      : limits_(limits), most_bytes_(limits.head_bytes) {}

  /// \param bytes  all of the head that is there: each call gets what the last one got, and more.
  Result scan(std::string_view bytes);
  /// After kComplete: bytes of the head, with the empty line at its end.
  size_t head_bytes() const noexcept { return position_; }
  /// After kRefused.
  const RequestRefusal& refusal() const noexcept { return refusal_; }
  void reset() noexcept;

 private:
  Result refuse(int http_status, std::string text);
  Result end_line();
  /// Whether the byte may stand where it does; sets the refusal if not.
  bool check(unsigned char byte);

  HeadLimits limits_;
  size_t most_bytes_;      ///< of this head, as far as it is known
  size_t position_ = 0;    ///< of the next byte to look at
  size_t line_start_ = 0;  ///< of the line it is in
  size_t lines_ = 0;       ///< that are complete
  bool after_cr_ = false;
  bool space_seen_ = false;  ///< in the request line
  RequestRefusal refusal_;
};

}  // namespace atl::frontends::http
