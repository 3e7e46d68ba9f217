/// control/on_demand: serves what requests ask for.
#include "atoll/plugin.h"

#include "on_demand_plugin.h"

namespace atl::control {
namespace {

constexpr atoll_provided_v1 kProvides[] = {{ModelControl::kInterfaceId.data(), 0, 0},
                                           {ModelDemand::kInterfaceId.data(), 0, 0}};
constexpr atoll_need_v1 kNeeds[] = {
    {ModelCatalog::kInterfaceId.data(), 1, 0},
    {Repository::kInterfaceId.data(), 0, 0},
};

constexpr atoll_option_v1 kOptions[] = {
    {"unload_after", ATOLL_OPTION_DURATION, 0, "10m", "0s", "8760h", nullptr,
     "How long nobody has asked for a model when it is unloaded; 0s: it stays."},
    {"memory_budget", ATOLL_OPTION_BYTES, 0, "0", "0", nullptr, nullptr,
     "Most bytes that loaded models may take, as estimated; beyond, the least recently used ones are "
     "unloaded. "
     "0: no limit."},
    {"pinned", ATOLL_OPTION_STRING_LIST, 0, "[]", nullptr, nullptr, nullptr,
     "Names of models that are loaded at start and never unloaded."},
    {"max_waiting", ATOLL_OPTION_INT, 0, "1000", "1", "1000000", nullptr,
     "Most requests that wait for models to be loaded."},
    {"max_wait", ATOLL_OPTION_DURATION, 0, "60s", "1ms", "24h", nullptr,
     "How long a request waits for its model at most; its own deadline counts too."},
    {"retry_after", ATOLL_OPTION_DURATION, 0, "1s", "0s", "1h", nullptr,
     "How long a model that failed to load is not tried again; doubled by each further failure, up to 64 "
     "times."},
    {"interval", ATOLL_OPTION_DURATION, 0, "15s", "0s", "24h", nullptr,
     "Time between two looks at which models the repository has; 0s: one at start only."},
};

}  // namespace

ATOLL_PLUGIN(
    OnDemandPlugin,
    {.name = "control/on_demand",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Loads a model when the first request asks for it, and unloads it when nobody does.",
     .flags = ATOLL_PLUGIN_RESIDENT,  // the catalog may still be returning from what it was given to call
     .provides = kProvides,
     .needs = kNeeds,
     .options = kOptions});

}  // namespace atl::control
