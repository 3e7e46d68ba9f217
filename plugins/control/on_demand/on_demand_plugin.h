/// The plugin instance: holds the services that the demand works with.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/plugin.h"
#include "control/common/closed_control.h"
#include "control/common/repository_watch.h"
#include "control/on_demand/demand.h"

namespace atl::control {

class OnDemandPlugin final : public Plugin {
 public:
  explicit OnDemandPlugin(Host& host) : host_(host), demand_(host, read_options(host.options())) {}

  Status start() override {
    Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
    if (!catalog.ok()) return std::move(catalog).status();
    Result<Service<Repository>> repository = host_.registry().find<Repository>();
    if (!repository.ok()) return std::move(repository).status();
    ATOLL_RETURN_IF_ERROR(demand_.start(**catalog, **repository));
    catalog_ = std::move(catalog).value();
    repository_ = std::move(repository).value();
    return watch_.open();
  }
  void drain(int64_t /*deadline_ns*/) override {
    watch_.close();
    demand_.drain();
  }
  void stop() override {
    watch_.close();
    demand_.stop();
    catalog_.reset();
    repository_.reset();
  }
  ModelControl& control() noexcept { return control_; }
  ModelDemand& demand() noexcept { return demand_; }
  std::string holding() override {
    return host_.gate().count() > 0 ? "loads that have not ended, or requests that wait for them" : "";
  }

 private:
  static DemandOptions read_options(const Options& options) {
    DemandOptions read;
    read.unload_after_ns = options.get_duration_ns("unload_after");
    read.memory_budget_bytes = options.get_bytes("memory_budget");
    const auto& pinned = options.get_strings("pinned");
    read.pinned = {pinned.begin(), pinned.end()};
    read.max_waiting = static_cast<uint32_t>(options.get_int("max_waiting"));
    read.max_wait_ns = options.get_duration_ns("max_wait");
    read.retry_after_ns = options.get_duration_ns("retry_after");
    read.interval_ns = options.get_duration_ns("interval");
    return read;
  }

  struct LookAgain {
    Demand& demand;
    void operator()() const { demand.look_again(); }
  };

  Host& host_;
  ClosedControl control_{"on_demand"};
  Service<ModelCatalog> catalog_;
  Service<Repository> repository_;
  Demand demand_;
  RepositoryWatch<LookAgain> watch_{host_, LookAgain{demand_}};
};

}  // namespace atl::control
