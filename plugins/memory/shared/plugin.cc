// The plugin "memory/shared": memory that clients share with the server.
#include "memory/shared/shared_memory_plugin.h"

namespace atl::memory {
namespace {

constexpr OptionTable kOptions{
    option_bool("allow_client_shm", false)
        .help("Whether clients may register and unregister shared memory regions."),
    option_int("max_regions", 1024)
        .range(1, 65536)
        .help("Most regions that are registered or still in use at a time."),
    option_bytes("max_bytes", "0")
        .help("Most bytes of regions that are mapped at a time, counted in whole pages; 0: 16 TiB of address "
              "space."),
    option_string_list("allowed_owners")
        .help("Names or numbers of the users whose objects may be registered; empty: every object that the "
              "server itself may open."),
    option_duration("idle_timeout", "0s")
        .range("0s", "87600h")
        .help("A region that no request has used for this long is unregistered; 0s: never."),
};

void check_options(OptionCheck& check) { check.list("allowed_owners", &find_users); }

}  // namespace

ATOLL_PLUGIN(SharedMemoryPlugin,
             {.name = "memory/shared",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Maps shared memory that clients register for inputs and outputs.",
              .flags = ATOLL_PLUGIN_SINGLETON,
              .provides = {provide<SharedMemory, &SharedMemoryPlugin::regions>().minor(1),
                           provide<MetricSource, &SharedMemoryPlugin::regions>(), provide<OptionsFollower>()},
              .needs = {many<Memory>()},
              .options = kOptions,
              .check = &check_options});

}  // namespace atl::memory
