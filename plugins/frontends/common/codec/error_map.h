/// How a failure is told to clients: the one table from Status codes to gRPC codes and HTTP statuses.
#pragma once

#include <string>

#include "atoll/core/status.h"

namespace atl::frontends {

/// The number of a gRPC status code; a number that is no code becomes UNKNOWN (2).
int grpc_code(Code code) noexcept;

/// 400, 404, 500, 501, 503 for the codes that the V2 protocol knows; the others get their usual status.
int http_status(Code code) noexcept;

/// What a client reads: the message alone. Notes and origin are for operators.
std::string client_text(const Status& status);

}  // namespace atl::frontends
