/// The catalog as a plugin: its options, its services, and the events it listens to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "atoll/core/options_follower.h"
#include "atoll/core/plugin.h"
#include "atoll/models/repository_paths.h"
#include "models/catalog/catalog.h"
#include "models/catalog/namespaced_catalog.h"
#include "models/catalog/serving/operated_queues.h"

namespace atl::models {

class CatalogPlugin final : public Plugin, public OptionsFollower {
 public:
  explicit CatalogPlugin(Host& host);

  /// Of the options.
  static void check(OptionCheck& check);
  Status start() override;
  void drain(int64_t /*deadline_ns*/) override { catalog_.drain(); }

  void stop() override;
  ModelCatalog& catalog() noexcept;
  ModelQueues& queues() noexcept { return *queues_; }
  Startup& startup() noexcept { return catalog_; }
  Catalog& core() noexcept { return catalog_; }
  bool can_follow(const Options& next) noexcept override;
  void follow(const Options& next) noexcept override;
  std::string holding() override { return catalog_.lifecycle().holding(); }

 private:
  struct OnOptions {
    CatalogPlugin& plugin;
    void operator()(const OptionsFollowed&) const { plugin.look_again(); }
  };
  struct OnService {
    Catalog& catalog;
    void operator()(const ServiceChanged& event) const { catalog.service_changed(event); }
  };
  struct OnServerState {
    Catalog& catalog;
    void operator()(const ServerStateChanged& event) const { catalog.server_state_changed(event.state); }
  };

  /// At models that failed, and at where those that serve came from.
  void look_again() noexcept;

  Host& host_;
  Service<Repository> repository_;
  Service<ModelConfigs> configs_;
  Service<FaultNotes> fault_notes_;
  DeviceInputs device_inputs_{host_};
  Catalog catalog_;
  std::optional<NamespacedCatalog> namespaced_;  ///< in front of it, if models are known by identifiers
  std::optional<OperatedQueues> queues_;         ///< there from the beginning
  Subscription<ServiceChanged, OnService> services_changed_{OnService{catalog_}};
  Subscription<ServerStateChanged, OnServerState> server_state_changed_{OnServerState{catalog_}};
  Subscription<OptionsFollowed, OnOptions> options_followed_{OnOptions{*this}};
};

}  // namespace atl::models
