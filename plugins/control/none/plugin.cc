/// control/none: serves what the repository holds at start.
#include "atoll/plugin.h"

#include "control/none/none_plugin.h"

namespace atl::control {

ATOLL_PLUGIN(
    NonePlugin,
    {.name = "control/none",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Loads every model of the repository at start; clients may not load or unload.",
     .flags = ATOLL_PLUGIN_RESIDENT,  // the catalog may still be returning from what it was given to call
     .provides = {provide<ModelControl, &NonePlugin::control>()},
     .needs = {need<ModelCatalog>(), need<Repository>()}});

}  // namespace atl::control
