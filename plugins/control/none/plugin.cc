/// control/none: serves what the repository holds at start.
#include "atoll/core/plugin.h"

#include "control/none/none_plugin.h"

namespace atl::control {

ATOLL_PLUGIN(
    NonePlugin,
    {.name = "control/none",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Loads every model of the repository at start; clients may not load or unload.",
     // The catalog may still be returning from what it was given to call; a trial would load the models again.
     .flags = ATOLL_PLUGIN_RESIDENT | ATOLL_PLUGIN_UNTRIED,
     .provides = {provide<ModelControl, &NonePlugin::control>()},
     .needs = {need<ModelCatalog>(), need<Repository>()}});

}  // namespace atl::control
