/// Failures as gRPC carries them.
#pragma once

#include <grpcpp/support/status.h>

#include "atoll/core/status.h"
#include "frontends/common/grpc/status_text.h"

namespace atl::frontends::grpc_frontend {

grpc::Status to_grpc(const Status& status);

}  // namespace atl::frontends::grpc_frontend
