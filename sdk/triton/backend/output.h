/// Outputs of responses.
#pragma once

#include "backend/exchange.h"

namespace atl::triton {

/// Whether the memory of one was never asked for. The caller has the lock.
bool has_open_outputs(const TRITONBACKEND_Response& response) noexcept;
/// Gives those whose memory was never asked for none. The caller has the lock.
/// Errors: the memory of one was refused: the response cannot be sent as it is.
Status complete_outputs(TRITONBACKEND_Response& response) noexcept;

}  // namespace atl::triton
