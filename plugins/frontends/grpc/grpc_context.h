/// What every call of this frontend may use. Lives from start to stop.
#pragma once

#include <memory>

#include "atoll/host.h"
#include "frontends/common/call_gate.h"
#include "frontends/common/large_work.h"
#include "frontends/common/management/management.h"
#include "frontends/grpc/contributed_methods.h"
#include "frontends/grpc/settings.h"

namespace atl::frontends::grpc_frontend {

struct GrpcContext {
  Host& host;
  const GrpcSettings& settings;
  ServerAccess server;
  CallGate& calls;
  std::unique_ptr<LargeWork> large_work = std::make_unique<LargeWork>();
  std::unique_ptr<ContributedMethods> contributed = std::make_unique<ContributedMethods>(host);
};

}  // namespace atl::frontends::grpc_frontend
