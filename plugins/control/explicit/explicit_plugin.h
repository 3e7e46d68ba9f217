/// The plugin instance: holds the services, and loads what is to be loaded at start.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/options_follower.h"
#include "atoll/core/plugin.h"
#include "control/common/startup_load.h"
#include "control/explicit/explicit_control.h"

namespace atl::control {

class ExplicitPlugin final : public Plugin, public OptionsFollower {
 public:
  explicit ExplicitPlugin(Host& host)
      : host_(host), options_(read_options(host.options())), control_(options_, host.gate()) {}

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
    Status status = load(options_.load_model);
    if (!status.ok()) stop();
    return status;
  }
  bool can_follow(const Options& next) noexcept override {
    return check_startup_models(read_options(next).load_model).ok();
  }
  /// What is named now and was not before is loaded; what clients have loaded or unloaded meanwhile stays so.
  void follow(const Options& next) noexcept override {
    ExplicitOptions options = read_options(next);
    std::vector<std::string> added;
    std::set_difference(options.load_model.begin(), options.load_model.end(), options_.load_model.begin(),
                        options_.load_model.end(), std::back_inserter(added));
    options_ = std::move(options);
    control_.follow(options_);
    if (!added.empty()) (void)load(std::move(added));  // what goes wrong, the log tells
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
  Status load(std::optional<std::vector<std::string>> models) {
    if (*models == std::vector<std::string>{"*"}) models.reset();
    return begin_startup_load({host_.log(), host_.gate(), host_.workers(), *catalog_, *repository_},
                              std::move(models));
  }
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
  ExplicitOptions options_;
  ExplicitControl control_;
  Service<ModelCatalog> catalog_;
  Service<Repository> repository_;
};

}  // namespace atl::control
