/// The plugin: options and services in, a metrics endpoint out.
#pragma once

#include <memory>
#include <string>

#include "atoll/core/metrics_page.h"
#include "atoll/core/plugin.h"
#include "frontends/common/access/access_check.h"
#include "frontends/common/http/http_server.h"
#include "frontends/common/tls/certificates.h"
#include "frontends/metrics/endpoint.h"
#include "frontends/metrics/exposition.h"
#include "frontends/metrics/inference_port_routes.h"
#include "frontends/metrics/poller.h"
#include "frontends/metrics/settings.h"

namespace atl::frontends::metrics {

class MetricsFrontend final : public Plugin, public MetricsPage {
 public:
  explicit MetricsFrontend(Host& host) : host_(host) {}
  ~MetricsFrontend() override;

  Status init() override;
  Status start() override;
  void drain(int64_t deadline_ns) override;
  void stop() override;
  std::string holding() override;

  /// Between start and stop.
  Result<std::string> text() noexcept override;

  HttpRoutes& routes() noexcept { return routes_; }

  /// What the socket got; 0 before start, and without one.
  int bound_port() const noexcept { return bound_port_; }

 private:
  Status start_parts();
  Status start_listening();
  std::string page(const PageRequest& wanted);

  Host& host_;
  MetricsSettings settings_;
  std::unique_ptr<Exposition> exposition_;
  std::unique_ptr<PollThread> poller_;
  InferencePortRoutes routes_{host_, [this](const PageRequest& wanted) { return page(wanted); }};
  std::unique_ptr<AccessPoint> access_;
  std::unique_ptr<MetricsEndpoint> endpoint_;
  std::unique_ptr<Certificates> certificates_;  ///< null: no TLS
  std::unique_ptr<http::HttpServer> server_;
  int bound_port_ = 0;
};

}  // namespace atl::frontends::metrics
