/// The plugin: options and services in, a gRPC server out.
#pragma once

#include <memory>
#include <string>

#include "atoll/core/plugin.h"
#include "frontends/common/call/sequence_drain.h"
#include "frontends/common/grpc/call_context.h"
#include "frontends/grpc/grpc_server.h"
#include "frontends/grpc/log_bridge.h"

namespace atl::frontends::grpc_frontend {

class GrpcFrontend final : public Plugin {
 public:
  explicit GrpcFrontend(Host& host) : host_(host), sequence_drain_(host) {}
  ~GrpcFrontend() override;

  Status init() override;
  Status start() override;
  void drain(int64_t deadline_ns) override;
  void stop() override;
  std::string holding() override;

  /// What the socket got; 0 before start.
  int bound_port() const noexcept { return bound_port_; }
  /// Calls that are being answered, health calls aside.
  int64_t calls() const noexcept { return calls_ == nullptr ? 0 : calls_->calls(); }

 private:
  Host& host_;
  GrpcSettings settings_;
  std::unique_ptr<LogBridge> log_bridge_;
  CallGate::Owner calls_;
  std::unique_ptr<GrpcCallContext> frontend_;
  std::unique_ptr<GrpcServer> server_;
  int bound_port_ = 0;
  SequenceDrain sequence_drain_;
};

}  // namespace atl::frontends::grpc_frontend
