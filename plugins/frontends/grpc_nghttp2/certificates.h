/// The TLS files of the frontend: read at start, and again whenever the manifest is applied.
#pragma once

#include <memory>
#include <string>

#include "atoll/core/events.h"
#include "atoll/core/host.h"
#include "frontends/common/grpc/settings.h"
#include "frontends/grpc_nghttp2/transport/tls/tls_listener.h"

namespace atl::frontends::grpc_nghttp2 {

/// What the TLS files of the options make. \param digest  of what the files hold
/// Errors: INVALID_ARGUMENT files that cannot be read or do not belong together, by name.
Result<TlsContext> read_certificates(const GrpcSettings& settings, std::string* digest);

/// [control]
class Certificates {
 public:
  /// \param settings  outlive this
  Certificates(Host& host, const GrpcSettings& settings) : host_(host), settings_(settings) {}

  /// Once. Errors: INVALID_ARGUMENT files that cannot be read or do not belong together, by name.
  Status open();
  /// For the transport.
  TlsListener& listener() noexcept { return *listener_; }

 private:
  struct OnServerState {
    Certificates& certificates;
    void operator()(const ServerStateChanged& event) const noexcept {
      if (event.state == ServerStateChanged::State::kActive) certificates.renew();
    }
  };

  /// New connections get what the files hold now. If that is no use, all stays as it was, and the log says so.
  void renew() noexcept;

  Host& host_;
  const GrpcSettings& settings_;
  std::string digest_;
  std::unique_ptr<TlsListener> listener_;
  Subscription<ServerStateChanged, OnServerState> state_changed_{OnServerState{*this}};
};

}  // namespace atl::frontends::grpc_nghttp2
