#include "frontends/metrics/frontend.h"

#include <utility>

namespace atl::frontends::metrics {

MetricsFrontend::~MetricsFrontend() { stop(); }

Status MetricsFrontend::init() {
  Result<MetricsSettings> settings = read_settings(host_.options());
  if (!settings.ok()) return std::move(settings).status();
  settings_ = std::move(settings).value();
  return {};
}

Status MetricsFrontend::start() {
  Status status = start_parts();
  if (!status.ok()) stop();
  return status;
}

Status MetricsFrontend::start_parts() {
  exposition_ = std::make_unique<Exposition>(host_, settings_);
  ATOLL_RETURN_IF_ERROR(exposition_->open());
  if (settings_.inference_port) ATOLL_RETURN_IF_ERROR(routes_.start());
  if (settings_.listen) ATOLL_RETURN_IF_ERROR(start_listening());
  if (exposition_->needs_samples()) {
    poller_ = std::make_unique<PollThread>(host_.clock(), settings_.poll_interval_ns,
                                           [this] { exposition_->poll(); });
    ATOLL_RETURN_IF_ERROR(poller_->start(host_.executors()));
  }
  return {};
}

Status MetricsFrontend::start_listening() {
  access_ = std::make_unique<AccessPoint>(host_);
  ATOLL_RETURN_IF_ERROR(access_->open());
  endpoint_ = std::make_unique<MetricsEndpoint>(host_.gate(),
                                                [this](const PageRequest& wanted) { return page(wanted); });
  Result<std::unique_ptr<Certificates>> tls = Certificates::open(host_, settings_.tls);
  if (!tls.ok()) return std::move(tls).status();
  certificates_ = std::move(tls).value();
  server_ = std::make_unique<http::HttpServer>(http::ServerContext{
      host_, *endpoint_, MetricsEndpoint::server_options(settings_), *access_, nullptr,
      certificates_ == nullptr ? nullptr : &certificates_->listener(),
      [this](int port) { host_.log().info("Started Metrics Service at ", settings_.address.text(port)); }});
  Result<int> port = server_->start();
  if (!port.ok()) return std::move(port).status();
  bound_port_ = port.value();
  return {};
}

void MetricsFrontend::drain(int64_t deadline_ns) {
  if (server_ != nullptr) server_->drain(deadline_ns, exposition_->exiting());
}

void MetricsFrontend::stop() {
  if (server_ != nullptr) server_->stop();
  routes_.stop();
  if (poller_ != nullptr) poller_->stop();
  if (exposition_ != nullptr) exposition_->close();
  server_.reset();
  certificates_.reset();
  endpoint_.reset();
  access_.reset();
  poller_.reset();
  exposition_.reset();
  bound_port_ = 0;
}

std::string MetricsFrontend::page(const PageRequest& wanted) {
  if (wanted.is_summary) return exposition_->summary(wanted.format);
  return exposition_->text(server_ == nullptr ? 0 : server_->refused_connections(), wanted.format);
}

Result<std::string> MetricsFrontend::text() noexcept {
  return guarded("the page of metrics", [this]() -> Result<std::string> { return page({}); });
}

std::string MetricsFrontend::holding() {
  int64_t scrapes = host_.gate().count();
  return scrapes == 0 ? std::string() : cat(scrapes, scrapes == 1 ? " scrape" : " scrapes");
}

}  // namespace atl::frontends::metrics
