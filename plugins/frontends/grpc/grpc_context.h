/// What every call of this frontend may use. Lives from start to stop.
#pragma once

#include <memory>

#include "frontends/common/grpc/call_context.h"
#include "frontends/grpc/contributed_methods.h"

namespace atl::frontends::grpc_frontend {

struct GrpcContext : GrpcCallContext {
  std::unique_ptr<ContributedMethods> contributed = std::make_unique<ContributedMethods>(host);
};

}  // namespace atl::frontends::grpc_frontend
