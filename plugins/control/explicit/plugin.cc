/// control/explicit: serves what clients load.
#include "atoll/core/plugin.h"

#include "control/explicit/explicit_plugin.h"

namespace atl::control {
namespace {

constexpr OptionTable kOptions{
    option_string_list("load_model")
        .help("Names of the models that are loaded at start; \"*\" alone: all of the repository."),
    option_bool("allow_file_override", true)
        .help("Whether a load may bring the model's files itself, which for some backends means bringing "
              "code."),
    option_bytes("max_override_bytes", "1GiB")
        .at_least("1MiB")
        .help("Most bytes of configurations and files in all running load calls together."),
};

}  // namespace

ATOLL_PLUGIN(
    ExplicitPlugin,
    {.name = "control/explicit",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Loads the models that are named at start; after that clients load and unload.",
     // The catalog may still be returning from what it was given to call; a trial would load the models again.
     .flags = ATOLL_PLUGIN_RESIDENT | ATOLL_PLUGIN_UNTRIED,
     .provides = {provide<ModelControl, &ExplicitPlugin::control>(), provide<OptionsFollower>()},
     .needs = {need<ModelCatalog>().minor(1), need<Repository>()},
     .options = kOptions,
     .check = &ExplicitPlugin::check});

}  // namespace atl::control
