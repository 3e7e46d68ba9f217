#include "frontends/grpc/frontend.h"

#include <utility>

namespace atl::frontends::grpc_frontend {

namespace {

/// So many large messages are opened at a time.
constexpr uint32_t kLargeWorkThreads = 2;

}  // namespace

GrpcFrontend::~GrpcFrontend() { stop(); }

Status GrpcFrontend::init() {
  Result<GrpcSettings> settings = read_grpc_settings(host_.options());
  if (!settings.ok()) return std::move(settings).status();
  settings_ = std::move(settings).value();
  return {};
}

Status GrpcFrontend::start() {
  Result<ServerAccess> access = ServerAccess::open(host_);
  if (!access.ok()) return std::move(access).status();
  access->server_name = settings_.server_name;
  log_bridge_ = std::make_unique<LogBridge>(host_.log());
  calls_ = CallGate::open(host_.gate());
  frontend_ = std::make_unique<GrpcCallContext>(
      GrpcCallContext{host_, settings_, std::move(access).value(), *calls_});
  Status opened = frontend_->large_work->open(host_.executors(), "grpc-large", kLargeWorkThreads);
  if (!opened.ok()) {
    stop();
    return opened;
  }
  if (opened = frontend_->contributed->open(); !opened.ok()) {
    stop();
    return opened;
  }
  Result<std::unique_ptr<GrpcServer>> server = GrpcServer::start(*frontend_, &bound_port_);
  if (!server.ok()) {
    stop();
    return std::move(server).status();
  }
  server_ = std::move(server).value();
  return {};
}

void GrpcFrontend::drain(int64_t deadline_ns) {
  if (server_ == nullptr) return;
  sequence_drain_.begin(*frontend_->server.catalog, deadline_ns, [this, deadline_ns] {
    server_->drain(deadline_ns, frontend_->server.catalog->exiting());
  });
}

void GrpcFrontend::stop() {
  sequence_drain_.cancel();
  server_.reset();
  frontend_.reset();
  calls_.reset();
  log_bridge_.reset();
}

std::string GrpcFrontend::holding() {
  const int64_t held = calls();
  return held == 0 ? std::string() : cat(held, held == 1 ? " gRPC call" : " gRPC calls");
}

}  // namespace atl::frontends::grpc_frontend
