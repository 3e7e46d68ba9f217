/// A model router: further names for models, as an operator who renames a model might want them.
#include "atoll/core/plugin.h"

#include <map>
#include <optional>
#include <string>

#include "atoll/models/model.h"
#include "atoll/models/model_router.h"

namespace {

constexpr atl::OptionTable kOptions{
    atl::option_string_map("names").help("The model that each further name stands for."),
};

class Aliases final : public atl::Plugin, public atl::ModelRouter {
 public:
  explicit Aliases(atl::Host& host) : host_(host), names_(host.options().get_map("names")) {}

  atl::Status start() override {
    auto catalog = host_.registry().find<atl::ModelCatalog>();
    if (!catalog.ok()) return std::move(catalog).status();
    catalog_ = std::move(catalog).value();
    return {};
  }
  void stop() override { catalog_.reset(); }

  std::optional<int64_t> labelled(std::string_view, std::string_view) const noexcept override { return {}; }
  atl::Result<atl::ModelRef> route(std::string_view model, int64_t version) noexcept override {
    const auto found = names_.find(std::string(model));
    return catalog_->acquire(found == names_.end() ? model : found->second, version);
  }

 private:
  atl::Host& host_;
  const std::map<std::string, std::string> names_;
  atl::Service<atl::ModelCatalog> catalog_;
};

}  // namespace

ATOLL_PLUGIN(Aliases, {.name = "tests/router",
                       .version = "1.0.0",
                       .license = "Apache-2.0",
                       .help = "Further names for models.",
                       .provides = {atl::provide<atl::ModelRouter>()},
                       .needs = {atl::need<atl::ModelCatalog>()},
                       .options = kOptions});
