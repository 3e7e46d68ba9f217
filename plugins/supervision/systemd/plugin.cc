/// supervision/systemd: tells systemd what the server does, and that it is not stuck.
#include "atoll/core/plugin.h"

#include "supervision/systemd/systemd_plugin.h"

namespace atl::supervision {
namespace {

constexpr OptionTable kOptions{
    option_string("ready_when", "models_loaded")
        .choices("models_loaded|plugins_started")
        .help(
            "When the unit counts as started: when each model of the start has been loaded or has failed, or already when all plugins have started."),
};

}  // namespace

ATOLL_PLUGIN(SystemdPlugin,
             {.name = "supervision/systemd",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Notifies systemd of the start, of reloads and of the end, and answers its watchdog.",
              .flags = ATOLL_PLUGIN_SINGLETON,
              .needs = {optional<Startup>()},
              .options = kOptions});

}  // namespace atl::supervision
