/// control/on_demand: serves what requests ask for.
#include "atoll/core/plugin.h"

#include "control/on_demand/on_demand_plugin.h"

namespace atl::control {
namespace {

constexpr OptionTable kOptions{
    option_duration("unload_after", "10m")
        .range("0s", "8760h")
        .help("A model is unloaded when no request has asked for it for this long; 0s: never."),
    option_bytes("memory_budget", "0")
        .at_least("0")
        .help("Most bytes that loaded models may take, as estimated; beyond, the least recently used ones "
              "are unloaded. 0: no limit."),
    option_string_list("pinned").help("Names of models that are loaded at start and never unloaded."),
    option_int("max_waiting", 1000)
        .range(1, 1000000)
        .help("Most requests that wait for models to be loaded."),
    option_duration("max_wait", "60s")
        .range("1ms", "24h")
        .help("How long a request waits for its model at most; its own deadline counts too."),
    option_duration("retry_after", "1s")
        .range("0s", "1h")
        .help("A model that failed to load is not tried again for this long; doubled by each further "
              "failure, up to 64 times as long."),
    option_duration("interval", "15s")
        .range("0s", "24h")
        .help("Time between two polls of which models the repository has; 0s: one at start only."),
};

}  // namespace

ATOLL_PLUGIN(
    OnDemandPlugin,
    {.name = "control/on_demand",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Loads a model when the first request asks for it, and unloads it when nobody does.",
     // The catalog may still be returning from what it was given to call; a trial would load the models again.
     .flags = ATOLL_PLUGIN_RESIDENT | ATOLL_PLUGIN_UNTRIED,
     .provides = {provide<ModelControl, &OnDemandPlugin::control>(),
                  provide<ModelDemand, &OnDemandPlugin::demand>()},
     .needs = {need<ModelCatalog>().minor(1), need<Repository>()},
     .options = kOptions});

}  // namespace atl::control
