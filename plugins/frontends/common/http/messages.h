/// The texts of the transport that clients compare, byte for byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/text.h"

namespace atl::frontends::http::messages {

inline constexpr std::string_view kMethodNotAllowed = "Method Not Allowed";
inline constexpr std::string_view kUnsupportedCompression = "Unsupported compression type";
inline constexpr std::string_view kNothingToDecompress = "nothing to be decompressed";
inline constexpr std::string_view kHowToRaise = "Use --http-max-input-size to increase the limit.";

inline std::string too_many_chunks(uint32_t limit) {
  return cat("Chunked request body exceeds maximum of ", limit,
             " non-empty chunks. Send fewer or larger HTTP chunks.");
}
inline std::string decompressed_too_large(uint64_t limit) {
  return cat("Decompressed data size exceeds the maximum allowed value of ", limit, " bytes. ", kHowToRaise);
}
inline std::string body_too_large(uint64_t size_bytes, uint64_t limit) {
  return cat("request size of ", size_bytes, " bytes exceeds the maximum allowed input size of ", limit,
             " bytes. ", kHowToRaise);
}
inline std::string chunked_body_too_large(uint64_t limit) {
  return cat("chunked request exceeds the maximum allowed input size of ", limit, " bytes. ", kHowToRaise);
}

}  // namespace atl::frontends::http::messages
