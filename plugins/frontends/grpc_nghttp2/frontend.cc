#include "frontends/grpc_nghttp2/frontend.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "frontends/grpc_nghttp2/transport_metrics.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// So many large messages are opened at a time.
constexpr uint32_t kLargeWorkThreads = 2;

/// What is said by options of this frontend's own.
void read_own(const Options& options, SessionSettings* session, ConnectionSettings* connection) {
  session->initial_window = static_cast<uint32_t>(options.get_bytes("initial_window"));
  session->connection_window = static_cast<uint32_t>(
      std::min<uint64_t>(options.get_bytes("connection_window"), std::numeric_limits<int32_t>::max()));
  session->max_frame_bytes = static_cast<uint32_t>(options.get_bytes("max_frame_size"));
  session->max_metadata_bytes = static_cast<uint32_t>(options.get_bytes("max_metadata_bytes"));
  session->max_protocol_errors = static_cast<uint32_t>(options.get_int("max_protocol_errors"));
  session->inline_budget = static_cast<uint32_t>(options.get_int("inline_budget"));
  session->resets_a_second = static_cast<uint32_t>(options.get_int("reset_rate"));
  session->overhead_a_second = static_cast<uint32_t>(options.get_int("overhead_rate"));
  connection->header_timeout_ns = options.get_duration_ns("header_timeout");
  connection->write_stall_timeout_ns = options.get_duration_ns("write_stall_timeout");
  connection->call_stall_timeout_ns = options.get_duration_ns("call_stall_timeout");
}

void apply(const GrpcSettings& settings, SessionSettings* session, ConnectionSettings* connection) {
  session->max_streams = static_cast<uint32_t>(settings.max_streams_per_connection);
  session->ping_interval_ns = settings.http2_min_recv_ping_interval_without_data_ms * kNsPerMs;
  session->pings_without_calls = settings.keepalive_permit_without_calls;
  session->max_ping_strikes = static_cast<uint32_t>(settings.http2_max_ping_strikes);
  connection->keepalive_time_ns = settings.keepalive_time_ms * kNsPerMs;
  connection->keepalive_timeout_ns = settings.keepalive_timeout_ms * kNsPerMs;
  connection->keepalive_without_calls = settings.keepalive_permit_without_calls;
  connection->max_age_ns = settings.max_connection_age_ms * kNsPerMs;
  connection->max_age_grace_ns = settings.max_connection_age_grace_ms * kNsPerMs;
}

}  // namespace

TlsSetup tls_setup(const GrpcSettings& settings, const Options& options) {
  return {.who = "gRPC",
          .address = settings.address,
          .protocol = TlsProtocol::kHttp2,
          .files = settings.tls,
          .rules = TlsRules::read(options),
          .threads = settings.threads};
}

Nghttp2Frontend::~Nghttp2Frontend() { stop(); }

Status Nghttp2Frontend::init() {
  Result<GrpcSettings> settings = read_grpc_settings(host_.options());
  if (!settings.ok()) return std::move(settings).status();
  settings_ = std::move(settings).value();
  read_own(host_.options(), &session_, &connection_);
  apply(settings_, &session_, &connection_);
  return {};
}

Status Nghttp2Frontend::start() {
  Status status = start_server();
  if (!status.ok()) {
    stop();
    return status;
  }
  return {};
}

Status Nghttp2Frontend::start_server() {
  Result<ServerAccess> access = ServerAccess::open(host_);
  if (!access.ok()) return std::move(access).status();
  access->server_name = settings_.server_name;
  calls_ = CallGate::open(host_.gate());
  context_ = std::make_unique<GrpcCallContext>(
      GrpcCallContext{host_, settings_, std::move(access).value(), *calls_});
  ATOLL_RETURN_IF_ERROR(context_->large_work->open(host_.executors(), "grpc-large", kLargeWorkThreads));
  ATOLL_RETURN_IF_ERROR(context_->contributed->open());
  methods_.emplace(*context_);
  Result<std::unique_ptr<Certificates>> tls =
      Certificates::open(host_, tls_setup(settings_, host_.options()));
  if (!tls.ok()) return std::move(tls).status();
  certificates_ = std::move(tls).value();
  transport_.emplace(TransportContext{host_.clock(), *methods_, context_->server.request_memory.get(),
                                      session_, connection_,
                                      certificates_ == nullptr ? nullptr : &certificates_->listener()});
  ServerSettings settings;
  settings.address = settings_.address;
  settings.listen = {
      .host = &host_, .share_port = settings_.reuse_port, .opens_later = settings_.open_after_startup};
  settings.opening = opening_of(host_, settings_.open_after_startup, [this](int port) {
    host_.log().info("Started GRPCInferenceService at ", settings_.address.text(port));
  });
  settings.threads = settings_.threads;
  settings.limit = ConnectionLimit::make(settings_.max_connections, kRequestShare, host_.log());
  server_ = std::make_unique<Server>(*transport_, std::move(settings), host_.log());
  Result<int> port = server_->start();
  if (!port.ok()) return std::move(port).status();
  bound_port_ = port.value();
  return {};
}

void Nghttp2Frontend::drain(int64_t deadline_ns) {
  if (server_ == nullptr || departure_ != nullptr) return;
  departure_ = std::make_unique<Departure>(*server_, *calls_);
  ModelCatalog& catalog = *context_->server.catalog;
  sequence_drain_.begin(catalog, deadline_ns,
                        [this, &catalog, deadline_ns] { departure_->begin(deadline_ns, catalog.exiting()); });
}

void Nghttp2Frontend::stop() {
  sequence_drain_.cancel();
  if (server_ != nullptr) {
    calls_->close();
    server_->close_listener();
    // A stream without requests is no reason to wait; its client hears why it ends.
    methods_->end_streams();
    server_->close_connections();
    // A request may still be with its model, or with who knows whether it may be made.
    while (calls_->calls() > 0 || context_->server.access->unsettled() > 0 || methods_->open_streams() > 0 ||
           !server_->closed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    server_->stop();
  }
  departure_.reset();
  server_.reset();
  transport_.reset();
  certificates_.reset();
  methods_.reset();
  context_.reset();
  calls_.reset();
}

void Nghttp2Frontend::collect(MetricSink& sink) const noexcept {
  if (server_ == nullptr) return;
  write_transport_metrics(*server_, host_.instance_name(), sink);
  context_->server.access->collect("atoll_grpc_wrong_credentials_total", host_.instance_name(), sink);
  if (certificates_ == nullptr) return;
  const std::string instance(host_.instance_name());
  const MetricLabel of_instance[] = {{"instance", instance}};
  sink.family("atoll_grpc_tls_failures_total", "gRPC connections on which TLS failed.", MetricKind::kCounter);
  sink.sample(of_instance, static_cast<double>(certificates_->listener().failures()));
}

std::string Nghttp2Frontend::holding() {
  const int64_t held = calls();
  return held == 0 ? std::string() : cat(held, held == 1 ? " gRPC call" : " gRPC calls");
}

}  // namespace atl::frontends::grpc_nghttp2
