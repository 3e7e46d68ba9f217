/// What every call of a gRPC frontend may use. Lives from start to stop.
#pragma once

#include <memory>

#include "atoll/core/host.h"
#include "frontends/common/call/call_gate.h"
#include "frontends/common/call/large_work.h"
#include "frontends/common/grpc/contributed_methods.h"
#include "frontends/common/grpc/reflection.h"
#include "frontends/common/grpc/settings.h"
#include "frontends/common/management/management.h"

namespace atl::frontends {

struct GrpcCallContext {
  Host& host;
  const GrpcSettings& settings;
  ServerAccess server;
  CallGate& calls;
  std::unique_ptr<LargeWork> large_work = std::make_unique<LargeWork>();
  std::unique_ptr<ContributedMethods> contributed = std::make_unique<ContributedMethods>(host);
  /// Null: it is not served.
  std::unique_ptr<Reflection> reflection =
      settings.reflection ? std::make_unique<Reflection>(*contributed) : nullptr;

  /// Now, if requests are traced at all; else 0.
  int64_t trace_time_ns() const noexcept { return server.tracing->is_present() ? host.clock().now_ns() : 0; }
};

}  // namespace atl::frontends
