/// routing/weighted: labels for versions, shares of requests by weight, shadow traffic.
#include "atoll/core/plugin.h"

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "routing/weighted/option_table.h"
#include "routing/weighted/weighted_router.h"

namespace atl::routing {
namespace {

/// Shadow requests wait for whatever else the machine has to do.
constexpr int32_t kLaneNice = 5;

uint64_t seed_of(const Options& options) {
  if (int64_t seed = options.get_int("seed"); seed != 0) return static_cast<uint64_t>(seed);
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

class WeightedRouting final : public Plugin {
 public:
  explicit WeightedRouting(Host& host) : host_(host), budget_(host.options().get_bytes("max_shadow_bytes")) {}

  Status init() override {
    Result<RouteTable> routes = read_routes(host_.options());
    if (!routes.ok()) return std::move(routes).status();
    router_.emplace(std::move(routes).value(), seed_of(host_.options()));
    return {};
  }

  Status start() override {
    Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
    if (!catalog.ok()) return std::move(catalog).status();
    if (router_->has_shadows()) {
      ATOLL_RETURN_IF_ERROR(devices_.open());
      ThreadPlacement placement;
      placement.nice = kLaneNice;
      Result<SerialExecutorPtr> lane = host_.executors().create("shadows", placement);
      if (!lane.ok()) return std::move(lane).status();
      lane_ = std::move(lane).value();
      shadows_.emplace(ShadowContext{**catalog, host_.gate(), *lane_, budget_,
                                     static_cast<uint32_t>(host_.options().get_int("max_shadow_requests")),
                                     &devices_});
    }
    catalog_ = std::move(catalog).value();
    router_->use(*catalog_, shadows_ ? &*shadows_ : nullptr);
    // While the server starts, models are still to come. A reload is where a misspelt name takes the place of a rollout.
    if (catalog_->ready()) warn_of_unserved_models();
    return {};
  }

  void stop() override {
    lane_.reset();
    shadows_.reset();
    devices_.close();
    catalog_.reset();
  }

  WeightedRouter& router() noexcept { return *router_; }

  std::string holding() override {
    const int64_t held = host_.gate().count();
    return held == 0 ? std::string() : cat(held, " requests with a shadow, or shadows of them");
  }

 private:
  void warn_of_unserved_models() {
    for (const std::string& model : router_->unserved_models()) {
      host_.log().warning(
          "the manifest routes requests for model '", model,
          "', and no version of it is ready: its labels, weights and shadows do nothing until one is");
    }
  }

  Host& host_;
  ShadowBudget budget_;
  Service<ModelCatalog> catalog_;
  SerialExecutorPtr lane_;
  DeviceMemory devices_{host_};
  std::optional<ShadowContext> shadows_;
  std::optional<WeightedRouter> router_;
};

}  // namespace

ATOLL_PLUGIN(WeightedRouting, {.name = "routing/weighted",
                               .version = "0.1.0",
                               .license = "Apache-2.0",
                               .help = "Labels for versions, shares of requests by weight, shadow traffic.",
                               .provides = {provide<ModelRouter, &WeightedRouting::router>(),
                                            provide<MetricSource, &WeightedRouting::router>()},
                               .needs = {need<ModelCatalog>(), many<Memory>()},
                               .options = kOptions,
                               .check = &check_routes});

}  // namespace atl::routing
