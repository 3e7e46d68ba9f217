/// The plugin instance: holds the services, and loads what is to be loaded at start.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/plugin.h"
#include "control/common/startup_load.h"
#include "control/explicit/explicit_control.h"

namespace atl::control {

class ExplicitPlugin final : public Plugin {
 public:
  explicit ExplicitPlugin(Host& host) : host_(host), control_(read_options(host.options()), host.gate()) {}

  /// Of the options.
  static void check(OptionCheck& check) {
    check.passes("load_model", check_startup_models(read_options(check.options()).load_model));
  }
  Status start() override {
    Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
    if (!catalog.ok()) return std::move(catalog).status();
    Result<Service<Repository>> repository = host_.registry().find<Repository>();
    if (!repository.ok()) return std::move(repository).status();
    catalog_ = std::move(catalog).value();
    repository_ = std::move(repository).value();
    control_.use(&*catalog_);
    std::optional<std::vector<std::string>> models = control_.options().load_model;
    if (*models == std::vector<std::string>{"*"}) models.reset();
    Status status = begin_startup_load({host_.log(), host_.gate(), host_.workers(), *catalog_, *repository_},
                                       std::move(models));
    if (!status.ok()) stop();
    return status;
  }
  void stop() override {
    catalog_.reset();
    repository_.reset();
  }
  ModelControl& control() noexcept { return control_; }
  std::string holding() override {
    return host_.gate().count() > 0 ? "loads or unloads that have not ended" : "";
  }

 private:
  static ExplicitOptions read_options(const Options& options) {
    ExplicitOptions read;
    read.load_model = options.get_strings("load_model");
    std::sort(read.load_model.begin(), read.load_model.end());
    read.load_model.erase(std::unique(read.load_model.begin(), read.load_model.end()), read.load_model.end());
    read.allow_file_override = options.get_bool("allow_file_override");
    read.max_override_bytes = options.get_bytes("max_override_bytes");
    return read;
  }

  Host& host_;
  ExplicitControl control_;
  Service<ModelCatalog> catalog_;
  Service<Repository> repository_;
};

}  // namespace atl::control
