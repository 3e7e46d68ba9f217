/// The plugin: options and services in, a gRPC server out.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "atoll/core/metrics.h"
#include "atoll/core/plugin.h"
#include "frontends/common/call/sequence_drain.h"
#include "frontends/common/tls/certificates.h"
#include "frontends/grpc_nghttp2/departure.h"
#include "frontends/grpc_nghttp2/method_set.h"
#include "frontends/grpc_nghttp2/transport/server.h"

namespace atl::frontends::grpc_nghttp2 {

/// What the options say of TLS.
TlsSetup tls_setup(const GrpcSettings& settings, const Options& options);

class Nghttp2Frontend final : public Plugin, public MetricSource {
 public:
  explicit Nghttp2Frontend(Host& host) : host_(host), sequence_drain_(host) {}
  ~Nghttp2Frontend() override;

  Status init() override;
  Status start() override;
  void drain(int64_t deadline_ns) override;
  void stop() override;
  std::string holding() override;

  // --- MetricSource ---
  void collect(MetricSink& sink) const noexcept override;

  /// What the socket got; 0 before start.
  int bound_port() const noexcept { return bound_port_; }
  /// Calls that are being answered, health calls aside.
  int64_t calls() const noexcept { return calls_ == nullptr ? 0 : calls_->calls(); }

 private:
  Status start_server();

  Host& host_;
  GrpcSettings settings_;
  SessionSettings session_;
  ConnectionSettings connection_;
  CallGate::Owner calls_;
  std::unique_ptr<GrpcCallContext> context_;
  std::optional<ServedMethods> methods_;
  std::unique_ptr<Certificates> certificates_;  ///< null: no TLS
  std::optional<TransportContext> transport_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Departure> departure_;
  int bound_port_ = 0;
  SequenceDrain sequence_drain_;
};

}  // namespace atl::frontends::grpc_nghttp2
