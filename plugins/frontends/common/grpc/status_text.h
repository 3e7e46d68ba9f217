/// Texts of failures as gRPC carries them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/core/status.h"

namespace atl::frontends {

/// What a status text may take in the trailers, where every byte that is not printable ASCII takes three.
/// Clients accept 8 KiB of trailers; a longer text would reach them as another error.
inline constexpr size_t kMaxStatusTextBytes = 4096;

/// The text, or as much of it as fits into the trailers, ending in " (shortened)".
std::string shortened(std::string_view text);

/// The text with every byte that is not UTF-8 replaced by '?': a text field of protobuf takes nothing else.
std::string as_utf8(std::string_view text);

/// Trailing metadata that tells the client when to try again: `retry-after` in seconds, as over HTTP, and
/// `grpc-retry-pushback-ms`, which the retry policy of gRPC clients obeys. \param retry_after_ms  not 0
std::array<std::pair<std::string_view, std::string>, 2> retry_metadata(uint32_t retry_after_ms);

/// What a client is told of a request's end. Whoever notices that the deadline has passed ends the request as
/// cancelled, which is not what its client asked for. \param deadline_ns  0: none
Status client_status(const Status& status, int64_t deadline_ns, const Clock& clock);

}  // namespace atl::frontends
