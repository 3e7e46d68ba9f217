/// How gRPC writes times, texts and bytes into HTTP/2 headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace atl::frontends::grpc_nghttp2 {

/// The value of grpc-timeout: digits and one of H M S m u n. Rounded up to milliseconds, as gRPC C++ does; more
/// than 10^9 of a unit is for ever, which is INT64_MAX. Nothing: it is no timeout.
std::optional<int64_t> parse_timeout_ns(std::string_view value) noexcept;

/// The other way: a value of grpc-timeout that is no less, to the millisecond.
std::string timeout_text(int64_t timeout_ns);

/// A status text as grpc-message carries it: bytes outside printable ASCII and '%' become %XX.
std::string percent_encoded(std::string_view text);

/// The other way. What is no percent code stays as it is.
std::string percent_decoded(std::string_view text);

/// The bytes of a "-bin" value. Padding may be there or not. Nothing: it is not base64.
std::optional<std::string> decode_base64(std::string_view text);
/// Without padding.
std::string encode_base64(std::string_view bytes);

}  // namespace atl::frontends::grpc_nghttp2
