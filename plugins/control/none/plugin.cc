/// control/none: serves what the repository holds at start.
#include "atoll/plugin.h"

#include "none_plugin.h"

namespace atl::control {
namespace {

constexpr atoll_provided_v1 kProvides[] = {{ModelControl::kInterfaceId.data(), 0, 0}};
constexpr atoll_need_v1 kNeeds[] = {
    {ModelCatalog::kInterfaceId.data(), 0, 0},
    {Repository::kInterfaceId.data(), 0, 0},
};

}  // namespace

ATOLL_PLUGIN(
    NonePlugin,
    {.name = "control/none",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Loads every model of the repository at start; clients may not load or unload.",
     .flags = ATOLL_PLUGIN_RESIDENT,  // the catalog may still be returning from what it was given to call
     .provides = kProvides,
     .needs = kNeeds});

}  // namespace atl::control
