/// Which calls are passed on to other servers.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "atoll/core/host_port.h"
#include "frontends/common/codec/v2_infer_request.h"
#include "frontends/common/management/remote_server.h"

namespace atl::frontends {

/// How long a question may take that is passed on.
inline constexpr std::chrono::seconds kLongestRemoteQuestion{10};

/// Where an inference is passed on to; nothing: this server answers it. [request]
/// \param caller  whose leases are looked at; null: there are no identities \param lease  as the client says
/// Errors: as find_remote_server(); UNIMPLEMENTED that server has no gRPC; INVALID_ARGUMENT it would not see what the
/// request refers to.
Result<std::optional<HostPort>> remote_of_inference(const ServerAccess& server, const Identity* caller,
                                                    V2InferRequest& message, std::string_view lease) noexcept;

/// The same of a question about a model. One that is not ready is no failure of the question whether it is: this server
/// answers that.
Result<std::optional<HostPort>> remote_of_question(const ServerAccess& server, const Identity* caller,
                                                   ApiCategory category, std::string_view model,
                                                   std::string_view lease) noexcept;

}  // namespace atl::frontends
