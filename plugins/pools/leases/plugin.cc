/// pools/leases: pools of servers, leased out by quota.
#include "atoll/core/plugin.h"

#include <optional>
#include <utility>

#include "pools/leases/console/pools_page.h"
#include "pools/leases/option_table.h"
#include "pools/leases/pool_service.h"

namespace atl::pools {
namespace {

class PoolsPlugin final : public Plugin {
 public:
  explicit PoolsPlugin(Host& host) : host_(host) {}
  Status init() override {
    Result<PluginSettings> settings = PluginSettings::read(host_.options());
    if (!settings.ok()) return std::move(settings).status();
    service_.emplace(host_, std::move(settings).value());
    return {};
  }
  Status start() override {
    Result<Service<Launcher>> launcher = host_.registry().find<Launcher>();
    if (!launcher.ok()) return std::move(launcher).status();
    Result<Service<Placement>> placement = host_.registry().find<Placement>();
    if (!placement.ok()) return std::move(placement).status();
    ATOLL_RETURN_IF_ERROR(service_->start(*launcher.value(), *placement.value()));
    launcher_ = std::move(launcher).value();
    placement_ = std::move(placement).value();
    return {};
  }
  void drain(int64_t) override { service_->drain(); }
  void stop() override {
    service_->stop();
    launcher_.reset();
    placement_.reset();
  }
  PoolService& calls() noexcept { return *service_; }
  LeaseRoutes& leased_models() noexcept { return service_->leased_models(); }
  PoolMetrics& metrics() noexcept { return service_->metrics(); }
  PoolsPage& console_page() noexcept { return console_page_; }

 private:
  Host& host_;
  PoolsPage console_page_;
  std::optional<PoolService> service_;
  Service<Launcher> launcher_;
  Service<Placement> placement_;
};

}  // namespace

ATOLL_PLUGIN(PoolsPlugin,
             {.name = "pools/leases",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Keeps pools of servers and leases parts of them out by quota, over the frontends.",
              .flags = ATOLL_PLUGIN_UNTRIED,  // one instance has the state, and starts and ends servers
              .provides = {provide<HttpRoutes, &PoolsPlugin::calls>(),
                           provide<GrpcCalls, &PoolsPlugin::calls>(),
                           provide<RemoteModels, &PoolsPlugin::leased_models>().minor(2),
                           provide<MetricSource, &PoolsPlugin::metrics>(),
                           provide<ConsolePage, &PoolsPlugin::console_page>()},
              .needs = {need<Launcher>(), need<Placement>()},
              .options = kPoolOptions,
              .check = &PluginSettings::check});

}  // namespace atl::pools
