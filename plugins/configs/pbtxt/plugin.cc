/// configs/pbtxt: config.pbtxt, the configuration format of Triton model repositories.
#include "atoll/core/plugin.h"

#include "atoll/core/options_follower.h"
#include "configs/pbtxt/pbtxt_model_configs.h"

namespace atl::pbtxt {
namespace {

Settings settings_from(const Options& options) {
  bool warns = options.get_string("unknown_fields") == "warn";
  return {.unknown_fields = warns ? UnknownFields::kWarn : UnknownFields::kRefuse,
          .instances_max = static_cast<uint32_t>(options.get_int("instances_max")),
          .min_compute_capability = options.get_float("min_compute_capability")};
}

class PbtxtPlugin final : public Plugin, public OptionsFollower {
 public:
  explicit PbtxtPlugin(Host& host) : configs_(settings_from(host.options()), &host.log()) {}

  ModelConfigs& configs() noexcept { return configs_; }
  bool can_follow(const Options& /*next*/) noexcept override { return true; }
  void follow(const Options& next) noexcept override { configs_.follow(settings_from(next)); }

 private:
  PbtxtModelConfigs configs_;
};

constexpr OptionTable kOptions{
    option_string("unknown_fields", "error")
        .choices("error|warn")
        .help("Whether a field that this version does not know refuses a model or is logged and ignored."),
    option_int("instances_max", 1024)
        .range(1, 1000000)
        .help("Most instances that one version of a model may have, over all groups and GPUs."),
    option_float("min_compute_capability", 6.0)
        .range(0, 99)
        .help("What memory/cuda has by this name, for the text of a failure."),
};

}  // namespace

ATOLL_PLUGIN(PbtxtPlugin, {.name = "configs/pbtxt",
                           .version = "1.0.0",
                           .license = "Apache-2.0",
                           .help = "Reads, completes and checks config.pbtxt.",
                           .provides = {provide<ModelConfigs, &PbtxtPlugin::configs>().minor(2),
                                        provide<OptionsFollower>()},
                           .options = kOptions});

}  // namespace atl::pbtxt
