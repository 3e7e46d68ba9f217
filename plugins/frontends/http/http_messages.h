/// The texts of this frontend that clients compare, byte for byte; those of the transport are its own.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/text.h"
#include "frontends/common/http/messages.h"

namespace atl::frontends::http::messages {

inline constexpr std::string_view kNotFound = "Not Found";
inline constexpr std::string_view kModelNotReady = "Model version not ready";
inline constexpr std::string_view kDecoupled =
    "HTTP end point doesn't support models with decoupled transaction policy";
inline constexpr std::string_view kOnlyIdentity =
    "Unsupported content-encoding, only 'identity' is supported.";
inline constexpr std::string_view kGenerateNotOneResponse =
    "generate expects model to produce exactly 1 response, use generate stream for model that generates "
    "various number of responses";

/// \param kind  "system" or "cuda"
inline std::string region_name_needed(std::string_view kind) {
  return cat("'region name' is necessary to register ", kind, " shared memory region");
}

}  // namespace atl::frontends::http::messages
