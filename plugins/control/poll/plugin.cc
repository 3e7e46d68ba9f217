/// control/poll: serves what the repository holds, and follows its changes.
#include "atoll/core/plugin.h"

#include "control/poll/poll_plugin.h"

namespace atl::control {
namespace {

constexpr OptionTable kOptions{
    option_duration("interval", "15s")
        .range("0s", "24h")
        .help("Time between the end of one poll of the repository and the next; 0s: one at start only."),
    option_duration("settle_time", "1s")
        .range("0s", "1h")
        .help("A change is followed when nothing has changed further for this long, so that "
              "half-copied models are not loaded."),
};

}  // namespace

ATOLL_PLUGIN(
    PollPlugin,
    {.name = "control/poll",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Loads every model of the repository, and loads and unloads as the repository changes.",
     // The catalog may still be returning from what it was given to call; a trial would load the models again.
     .flags = ATOLL_PLUGIN_RESIDENT | ATOLL_PLUGIN_UNTRIED,
     .provides = {provide<ModelControl, &PollPlugin::control>(),
                  provide<RepositoryPoll, &PollPlugin::repository_poll>()},
     .needs = {need<ModelCatalog>(), need<Repository>().minor(1)},
     .options = kOptions});

}  // namespace atl::control
