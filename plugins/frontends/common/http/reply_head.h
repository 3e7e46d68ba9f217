/// Status line and headers of a reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frontends/common/http/compression.h"

namespace atl::frontends::http {

inline constexpr std::string_view kJsonType = "application/json";

struct ReplyHead {
  int http_status = 200;
  std::string_view content_type{};  ///< empty: no such header
  uint64_t content_length = 0;      ///< of the body as it is sent; not used by streams
  Encoding encoding = Encoding::kIdentity;
  std::optional<size_t> json_bytes{};  ///< Inference-Header-Content-Length
  std::string_view extra{};            ///< further complete header lines
  uint32_t retry_after_ms = 0;         ///< Retry-After, in whole seconds; 0: no such header
  std::string_view reason{};           ///< empty: reason_phrase()
};

/// How the body's end is told.
enum class Framing { kLength, kChunked, kUntilClosed };

/// \param more_lines  complete header lines behind the head's own \param version  10 or 11, the request's. Replaces what `to` holds.
void write_reply_head(const ReplyHead& head, std::string_view more_lines, int version, Framing framing,
                      bool keep_alive, std::string* to);

/// "Not Found"; "Unknown" for a status this server does not send.
std::string_view reason_phrase(int http_status) noexcept;

}  // namespace atl::frontends::http
