#include "frontends/http/frontend.h"

#include <utility>

#include "frontends/http/codec/error_json.h"
#include "frontends/http/thread_context.h"

namespace atl::frontends::http {

namespace {

/// So many large bodies are read or written at a time.
constexpr uint32_t kLargeWorkThreads = 2;

}  // namespace

HttpFrontend::~HttpFrontend() { stop(); }

Status HttpFrontend::init() {
  Result<HttpSettings> settings = read_settings(host_.options());
  if (!settings.ok()) return std::move(settings).status();
  settings_ = std::move(settings).value();
  return {};
}

Status HttpFrontend::start() {
  Result<ServerAccess> access = ServerAccess::open(host_);
  if (!access.ok()) return std::move(access).status();
  access->server_name = settings_.server_name;
  const ServerOptions options = settings_.server;
  calls_ = CallGate::open(host_.gate());
  frontend_ = std::make_unique<HttpContext>(
      HttpContext{host_, std::move(settings_), std::move(access).value(), *calls_});
  Status started = start_server(options);
  if (!started.ok()) {
    stop();
    return started;
  }
  return {};
}

Status HttpFrontend::start_server(const ServerOptions& options) {
  ATOLL_RETURN_IF_ERROR(frontend_->large_work->open(host_.executors(), "http-large", kLargeWorkThreads));
  ATOLL_RETURN_IF_ERROR(frontend_->routes->open());
  Result<std::unique_ptr<Certificates>> tls = Certificates::open(host_, frontend_->settings.tls);
  if (!tls.ok()) return std::move(tls).status();
  certificates_ = std::move(tls).value();
  server_ = std::make_unique<HttpServer>(
      ServerContext{host_, *this, options, *frontend_->server.access, frontend_->server.request_memory.get(),
                    certificates_ == nullptr ? nullptr : &certificates_->listener(),
                    [this, address = options.address](int port) {
                      host_.log().info("Started HTTPService at ", address.text(port));
                    }});
  Result<int> port = server_->start();
  if (!port.ok()) return std::move(port).status();
  bound_port_ = port.value();
  return {};
}

std::unique_ptr<Handler> HttpFrontend::make_handler(ServerThread& thread) {
  return std::make_unique<ThreadContext>(*frontend_, thread);
}

std::string HttpFrontend::refusal_body(std::string_view text, ReplyHead& head) const {
  head.content_type = kJsonType;
  return error_json(text);
}

void HttpFrontend::drain(int64_t deadline_ns) {
  if (server_ == nullptr) return;
  sequence_drain_.begin(*frontend_->server.catalog, deadline_ns, [this, deadline_ns] {
    server_->drain(deadline_ns, frontend_->server.catalog->exiting());
  });
}

void HttpFrontend::stop() {
  sequence_drain_.cancel();
  server_.reset();
  certificates_.reset();
  if (frontend_ != nullptr) settings_ = std::move(frontend_->settings);
  frontend_.reset();
  calls_.reset();
}

std::string HttpFrontend::holding() {
  const int64_t held = calls();
  return held == 0 ? std::string() : cat(held, held == 1 ? " HTTP call" : " HTTP calls");
}

std::string HttpFrontend::category_name(uint32_t category) const noexcept {
  if (category < kApiCategoryCount) return std::string(api_category_name(static_cast<ApiCategory>(category)));
  std::string own = frontend_->routes->counted_name(category);
  return own.empty() ? "other" : own;
}

void HttpFrontend::collect(MetricSink& sink) const noexcept {
  if (server_ == nullptr) return;
  const std::string instance(host_.instance_name());
  const MetricLabel of_instance[] = {{"instance", instance}};
  sink.family("atoll_http_connections", "Open HTTP connections.", MetricKind::kGauge);
  sink.sample(of_instance, static_cast<double>(server_->open_connections()));
  sink.family("atoll_http_refused_connections_total", "HTTP connections refused because of max_connections.",
              MetricKind::kCounter);
  sink.sample(of_instance, static_cast<double>(server_->refused_connections()));
  sink.family("atoll_http_slow_streams_total", "Streams cut off because their clients took them too slowly.",
              MetricKind::kCounter);
  sink.sample(of_instance, static_cast<double>(frontend_->slow_streams->count()));
  if (certificates_ != nullptr) {
    sink.family("atoll_http_tls_failures_total", "HTTP connections on which TLS failed.",
                MetricKind::kCounter);
    sink.sample(of_instance, static_cast<double>(certificates_->listener().failures()));
  }
  frontend_->server.access->collect("atoll_http_wrong_credentials_total", instance, sink);
  sink.family("atoll_http_requests_total",
              "HTTP requests answered, by category of the call and class of status.", MetricKind::kCounter);
  constexpr std::string_view kClassNames[RequestCounters::kClasses] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
  for (uint32_t category = 0; category < RequestCounters::kCategories; ++category) {
    for (uint32_t status = 0; status < RequestCounters::kClasses; ++status) {
      const uint64_t count = server_->requests(category, status);
      if (count == 0) continue;
      const std::string name = category_name(category);
      const MetricLabel labels[] = {
          {"instance", instance}, {"category", name}, {"status", kClassNames[status]}};
      sink.sample(labels, static_cast<double>(count));
    }
  }
}

}  // namespace atl::frontends::http
