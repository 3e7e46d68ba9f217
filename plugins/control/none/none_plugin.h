/// The plugin instance: holds the services that the start-up load works with.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/plugin.h"
#include "control/common/closed_control.h"
#include "control/common/repository_watch.h"
#include "control/common/startup_load.h"

namespace atl::control {

class NonePlugin final : public Plugin {
 public:
  explicit NonePlugin(Host& host) : host_(host) {}

  Status start() override {
    Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
    if (!catalog.ok()) return std::move(catalog).status();
    Result<Service<Repository>> repository = host_.registry().find<Repository>();
    if (!repository.ok()) return std::move(repository).status();
    catalog_ = std::move(catalog).value();
    repository_ = std::move(repository).value();
    Status status = load_all();
    if (status.ok()) status = watch_.open();
    if (!status.ok()) stop();
    return status;
  }
  void drain(int64_t /*deadline_ns*/) override { watch_.close(); }
  void stop() override {
    watch_.close();
    catalog_.reset();
    repository_.reset();
  }
  ModelControl& control() noexcept { return control_; }
  std::string holding() override { return host_.gate().count() > 0 ? "the start-up load of the models" : ""; }

 private:
  struct LoadAll {
    NonePlugin& plugin;
    void operator()() const { (void)plugin.load_all(); }  // what goes wrong, the log tells
  };
  Status load_all() {
    return begin_startup_load({host_.log(), host_.gate(), host_.workers(), *catalog_, *repository_},
                              std::nullopt);
  }

  Host& host_;
  ClosedControl control_{"none"};
  Service<ModelCatalog> catalog_;
  Service<Repository> repository_;
  RepositoryWatch<LoadAll> watch_{host_, LoadAll{*this}};
};

}  // namespace atl::control
