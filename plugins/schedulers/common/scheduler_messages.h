/// Texts of scheduler refusals that clients compare, byte for byte.
#pragma once

#include <string_view>

#include "atoll/core/status.h"
#include "atoll/request/request.h"

namespace atl::schedulers {

inline constexpr std::string_view kStoppingText =
    "Server is stopping, scheduler for model has stopped accepting new inference requests";
inline constexpr std::string_view kDrainingText =
    "The server's operator drains this model: it serves what waits, and takes no new inference requests";
inline constexpr std::string_view kCancelledByOperatorText =
    "The server's operator has cancelled the requests that waited for this model";
inline constexpr std::string_view kQueueFullText = "Exceeds maximum queue size";
inline constexpr std::string_view kTimeoutExpiredText = "Request timeout expired";

inline constexpr std::string_view kSequenceTimeoutExpiredText =
    "timeout of the corresponding sequence has been expired";
/// Of sequences that outlast the version that they began on.
inline constexpr std::string_view kSequenceEndedText =
    "the sequence has ended: the model version that it began on is no longer served, and the time to finish it is "
    "over";

/// UNAVAILABLE "[request id: 7] <text>".
inline Status unavailable_for(const Request& request, std::string_view text) {
  return unavailable("[request id: ", request.id.empty() ? std::string_view("<id_unknown>") : request.id,
                     "] ", text);
}

}  // namespace atl::schedulers
