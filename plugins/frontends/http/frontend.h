/// The plugin: options and services in, an HTTP server out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "atoll/core/metrics.h"
#include "atoll/core/plugin.h"
#include "frontends/common/call/sequence_drain.h"
#include "frontends/common/http/application.h"
#include "frontends/common/http/http_server.h"
#include "frontends/common/tls/certificates.h"
#include "frontends/http/http_context.h"

namespace atl::frontends::http {

class HttpFrontend final : public Plugin, public MetricSource, public Application {
 public:
  explicit HttpFrontend(Host& host) : host_(host), sequence_drain_(host) {}
  ~HttpFrontend() override;

  Status init() override;
  Status start() override;
  void drain(int64_t deadline_ns) override;
  void stop() override;
  std::string holding() override;

  // --- MetricSource ---
  void collect(MetricSink& sink) const noexcept override;

  // --- Application ---
  std::unique_ptr<Handler> make_handler(ServerThread& thread) override;
  std::string refusal_body(std::string_view text, ReplyHead& head) const override;
  void close() noexcept override { calls_->close(); }
  /// Calls that are being answered; 0 before start.
  int64_t calls() const noexcept override { return calls_ == nullptr ? 0 : calls_->calls(); }

  /// What the socket got; 0 before start.
  int bound_port() const noexcept { return bound_port_; }
  /// 0 before start.
  int64_t open_connections() const noexcept { return server_ == nullptr ? 0 : server_->open_connections(); }

 private:
  Status start_server(const ServerOptions& options);
  /// For the metrics.
  std::string category_name(uint32_t category) const noexcept;

  Host& host_;
  HttpSettings settings_;
  CallGate::Owner calls_;
  std::unique_ptr<HttpContext> frontend_;
  std::unique_ptr<Certificates> certificates_;  ///< null: no TLS
  std::unique_ptr<HttpServer> server_;
  int bound_port_ = 0;
  SequenceDrain sequence_drain_;
};

}  // namespace atl::frontends::http
