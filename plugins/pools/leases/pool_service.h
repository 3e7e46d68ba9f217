/// The pools of a server, with everything they work with.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "atoll/core/host.h"
#include "atoll/frontend/http_routes.h"
#include "atoll/pools/launcher.h"
#include "atoll/pools/placement.h"
#include "pools/leases/api/grpc_pool_calls.h"
#include "pools/leases/api/http_calls.h"
#include "pools/leases/api/pool_metrics.h"
#include "pools/leases/book/lease_routes.h"
#include "pools/leases/book/pool_events.h"
#include "pools/leases/book/pool_manager.h"
#include "pools/leases/servers/http_instance_models.h"
#include "pools/leases/servers/instance_tls.h"
#include "pools/leases/servers/model_folders.h"
#include "pools/leases/servers/servers_with_folders.h"
#include "pools/leases/settings.h"

namespace atl::pools {

/// Answers the calls over HTTP and gRPC; they are refused until the state is open, which waits for an instance of this plugin that is
/// being replaced. Everything but the text of these refusals is on the executor and has no lock.
class PoolService final : public HttpRoutes, public GrpcCalls, private PoolEvents {
 public:
  PoolService(Host& host, PluginSettings settings);
  PoolService(const PoolService&) = delete;
  PoolService& operator=(const PoolService&) = delete;
  virtual ~PoolService();

  /// Errors: those of Store::open() and Store::load(), and of pools that are declared otherwise than they are. [control]
  Status start(Launcher& launcher, const Placement& placement);
  /// Those who wait for leases are answered. [control]
  void drain() noexcept;
  /// Servers stay. [control]
  void stop() noexcept;
  PoolMetrics& metrics() noexcept { return metrics_; }
  LeaseRoutes& leased_models() noexcept { return routes_; }

  // --- HttpRoutes ---
  std::vector<HttpRoute> routes() const noexcept override;
  void handle(std::string_view route, HttpExchange& exchange) noexcept override;
  // --- GrpcCalls ---
  std::vector<GrpcMethod> methods() const noexcept override;
  void handle(std::string_view method, GrpcExchange& exchange) noexcept override;

 private:
  /// Begins with the routes of the instance that is replaced, until the state is taken over. [control]
  void publish_routes();
  void withdraw_routes() noexcept;
  /// What there is while the state is open; in the order in which the one needs the other.
  struct Open;

  /// \param is_takeover  pools that are declared otherwise than they are fail nothing
  Status open(bool is_takeover);
  void open_later();
  Status declare(PoolManager& manager) const;
  static Status declare(PoolManager& manager, const PoolDefinition& definition);
  void refresh_metrics();
  void look_at_use();
  void refuse_because(const Status& status);
  // --- PoolEvents ---
  void happened(const PoolEvent& event) override;

  Host& host_;
  const PluginSettings settings_;
  PoolMetrics metrics_;
  InstanceTls tls_{settings_.tls};
  LeaseRoutes routes_{&tls_};
  Launcher* launcher_ = nullptr;
  const Placement* placement_ = nullptr;
  HttpClient client_;
  SerialExecutorPtr executor_, files_;
  std::unique_ptr<Open> open_;         ///< the executor's
  std::atomic<Open*> calls_{nullptr};  ///< the same, for calls; null: not open
  std::mutex mutex_;                   ///< guards what follows
  std::string closed_because_ = "pools are not open yet";
};

}  // namespace atl::pools
